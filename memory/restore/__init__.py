"""Bringing a workspace back to how it was, with what the memory asks of it: ledgers are put
together and never rewound, what is forgotten stays away, what leaves the memory is archived, and
entries whose facts go are shown to Dream again.

``preparing`` finds out what that means now, ``engine`` does it.
"""
