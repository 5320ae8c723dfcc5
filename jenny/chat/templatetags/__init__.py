"""Template filters of the chat."""
