"""Restores a workspace under the memory's rules.

Ledgers are merged and never rewound, forgotten lines stay away, what leaves the memory is
archived, and entries whose facts are removed are shown to Dream again. ``plan`` computes the
effects, ``engine`` applies them.
"""
