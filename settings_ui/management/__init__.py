"""What pages and commands do."""
