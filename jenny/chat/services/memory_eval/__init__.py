"""Measures a memory: a story is played through chats, summaries and Dream, then judged by code."""
