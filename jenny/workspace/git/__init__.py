"""Read and write git repositories as a file format, without running git.

``objects`` defines blobs, trees and commits, ``packs`` their storage, ``refs`` moves references,
``store`` combines them as a ``Repository``, ``trees`` works on whole trees and writes the index.

No process is started, and only objects and references of a repository's folder are used: no
configuration, hook, filter, attribute, index or alternate has any effect. Plain ``git log`` and
``git fsck`` read the result.
"""
