"""Conversations, turns and their streams."""
