"""What follows from a run: its verdict, the refusals left open, the counts from run to run."""
