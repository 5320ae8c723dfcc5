"""The history, ``memory/history.jsonl``: summaries of what was said until Dream has read them."""
