"""A wiki that one talks inside: what its folder gives to the prompt, its log, and its tools."""
