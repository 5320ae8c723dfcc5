"""The review pass: its only work is to make the files smaller."""
