"""A workspace as one file that leaves the machine, and back.

``sealing`` and ``opening`` encrypt and decrypt, ``archive`` writes the zip inside, ``checking``
looks at one as a whole before anything of it is used, ``bundles`` and ``unbundling`` carry the
history. The format is told in ``docs/backup.md``.
"""
