"""Commands of the wikis."""
