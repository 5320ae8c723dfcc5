"""Changes of Dream and its reviews that wait for a person's approval.

A file together with its pending changes is its *overlay*. Runs edit the overlay, chats see it
marked, and a person decides hunk by hunk. ``values`` defines hunks, ``diff`` splits a change into
hunks, ``merge`` places them in a file that has changed since, ``overlay`` renders the pending
state.
"""
