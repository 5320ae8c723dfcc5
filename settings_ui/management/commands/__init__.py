"""Commands about workspaces and accounts."""
