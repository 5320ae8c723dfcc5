"""Reads and checks the conversations of a backup. Plain: it works on values.

``fields`` defines the kinds of rows; ``conversations`` groups the rows of a conversation and
refuses rows that do not fit together; ``anchors`` renumbers the history's references to messages.
"""
