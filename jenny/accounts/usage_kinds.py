"""Kinds of run that a model is asked for, as the page of what they used calls them."""

LABELS: dict[str, str] = {
    "chat": "Chat",
    "title": "Titles",
    "summary": "Summaries",
    "dream": "Dream",
    "review": "Review",
    "rehearsal": "Dry runs",
    "gardener": "Gardener",
    "test": "Tests of a connection",
}


def label(kind: str) -> str:
    """What a kind is called, also one of a newer version."""
    return LABELS.get(kind, kind.replace("_", " ").capitalize())
