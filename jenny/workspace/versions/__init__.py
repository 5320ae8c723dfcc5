"""Versions of the memory files: what changed, by whom, and taking one change back.

``tracked`` says which files, ``scan`` what they are on disk, ``writes`` who wrote them, ``record``
makes the commits, ``history`` reads them, ``undo`` takes one back, ``sieve`` says without what.
"""
