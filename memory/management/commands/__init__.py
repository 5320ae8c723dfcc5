"""Commands of the pipeline."""
