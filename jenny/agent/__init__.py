"""One turn of a model with tools. Plain Python."""
