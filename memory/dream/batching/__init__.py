"""What a run is shown: which entries, whole, and raw texts as the facts in them."""
