"""Accounts, their workspaces, keys, sessions, usage and jobs."""
