"""Export a workspace to one file, and import it again.

``format`` defines the parts, ``rows`` the tables, ``writer`` writes the zip and ``encryption``
encrypts it. ``validation`` checks a whole backup before any of it is used; ``bundles`` carry the
histories, which ``histories`` checks and merges. ``docs/backup.md`` describes the format.
"""
