"""Django's SQLite backend with a pool of connections: each request and each task opens one, and to
open one takes longer than most of what is asked of it."""
