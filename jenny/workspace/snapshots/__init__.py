"""Take, list, compare and delete snapshots of whole workspaces.

Each workspace has a store outside of it. ``create`` takes a snapshot, ``reader`` lists, reads and
verifies them, ``comparison`` compares two, ``retention`` deletes old ones, ``restore_plan`` plans
the way back to one. ``store`` describes the format.
"""
