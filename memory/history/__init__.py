"""What was said, until Dream has read it: ``memory/history.jsonl`` and how it is filled."""
