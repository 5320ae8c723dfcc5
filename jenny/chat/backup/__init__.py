"""Conversations on their way into a backup and out of one. Plain: it is given values.

``fields`` says what each kind of row has, ``talks`` puts the rows of a conversation together and
refuses what no conversation can be, ``matching`` finds what is there already.
"""
