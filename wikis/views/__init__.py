"""Views of the wikis, one module for each kind of action."""
