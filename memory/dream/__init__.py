"""Dream: what waits in the history becomes small edits of the memory files."""
