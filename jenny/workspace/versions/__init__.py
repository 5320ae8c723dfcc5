"""Keep versions of the memory files: the changes, their authors, and undo.

``tracked_files`` says which files and lists them, ``write_log`` records who writes them,
``commits`` makes the commits, ``messages`` their messages, ``history`` reads them, ``undo`` reverts
one without the lines that must not come back.
"""
