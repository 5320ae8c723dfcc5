"""The memory pipeline: what Jenny remembers, in plain files."""
