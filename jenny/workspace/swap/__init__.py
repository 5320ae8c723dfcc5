"""Very many files, of any size, put in the place of others: all of them or none.

``staging`` holds what is to come, ``book`` what is under way, ``swapping`` does it. Unlike an act
(``jenny.workspace.acts``), whose old contents lie in its journal, what is replaced here moves aside
whole, so that a file's size does not matter, and what nobody named stays untouched.
"""
