"""Commands of the memory."""
