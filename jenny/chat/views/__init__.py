"""The chat's pages and what they send."""
