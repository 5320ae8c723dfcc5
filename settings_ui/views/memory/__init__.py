"""Pages of the memory: pipeline, runs, approvals, archive."""
