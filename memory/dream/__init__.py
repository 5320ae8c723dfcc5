"""Dream: the nightly clean-up of memory, which turns history into small edits of files."""
