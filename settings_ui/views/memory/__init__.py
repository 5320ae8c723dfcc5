"""The Memory pages: the pipeline, its runs, what waits, what left."""
