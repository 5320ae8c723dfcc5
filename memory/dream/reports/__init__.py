"""What is told of a run, by what it left behind."""
