"""What a run is told: its prompt, the guide, the files as it is shown them."""
