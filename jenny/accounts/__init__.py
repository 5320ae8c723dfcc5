"""Who may see which workspace."""
