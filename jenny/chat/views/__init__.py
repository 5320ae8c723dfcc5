"""The chat's pages and their actions."""
