"""Finding lines and names without ever waiting long for a pattern."""
