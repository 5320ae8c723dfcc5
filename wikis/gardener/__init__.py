"""The gardener: makes pages of what a project's log holds. Off unless a person asks or switches it
on; it writes only pages, and the log stays as it is."""
