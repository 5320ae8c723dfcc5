"""Git as a file format: repositories read and written without ever running git.

``objects`` says what blobs, trees and commits are, ``packs`` how they lie on disk, ``refs`` how a
name is moved, ``store`` puts them together as a ``Repository``, ``trees`` works on whole trees.

No process is started, and of a repository's folder only objects and references are used: no
configuration, hook, filter, attribute, index or alternate of anybody's has a say. Plain ``git log``
and ``git fsck`` read what is written here.
"""
