"""The model's part in tidying a project."""
