"""What the Memory page shows, as values."""
