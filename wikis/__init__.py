"""Wikis: folders of Markdown that the user owns."""
