"""The Snapshots page, and all below it: looking, comparing, restoring, keeping."""
