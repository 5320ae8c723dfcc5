"""Template filters of the wikis."""
