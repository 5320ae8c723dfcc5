"""What waits for a person's approval: changes that Dream and its reviews would make.

A file and what waits for it together are its *overlay*. Runs edit the overlay, chats are shown it
with marks, and a person decides hunk by hunk what of it becomes the file. ``values`` says what a
hunk is, ``hunks`` how a text's change is taken apart into hunks, ``placing`` where each stands in a
file that has changed since, ``overlay`` what is shown meanwhile.
"""
