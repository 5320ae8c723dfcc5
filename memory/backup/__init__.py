"""Tables of the memory in a backup."""
