"""Bringing a workspace, a folder or a file back to how it was.

``sources`` says what is to come (a snapshot, or a folder that was unpacked), ``present`` what is
there, ``planning`` what that means for each file, ``staging`` gets it ready. What happens then is a
swap (``jenny.workspace.swap``): it is finished or taken back by whoever opens the workspace next,
should the process die.
"""
