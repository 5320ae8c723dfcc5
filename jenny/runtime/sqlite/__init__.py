"""Django's SQLite backend with a pool of connections.

Each request and each task opens a connection, and opening takes longer than most queries.
"""
