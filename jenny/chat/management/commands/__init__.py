"""Commands of the chat app."""
