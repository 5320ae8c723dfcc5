"""A workspace folder: its files, the rules for writing them, and config.json. Plain Python."""
