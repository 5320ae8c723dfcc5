"""Backups of the instance's workspaces: made, kept until they are fetched, and taken in.

``shelf`` has the folders and keys, ``making`` exports, ``looking`` judges a file and says what it
would change, ``entering`` imports it, ``settling`` finishes or takes back an import that died.
"""
