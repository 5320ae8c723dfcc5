"""Text as it may be shown: no carriage returns, no NUL, no half of a surrogate pair."""

import re

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_SURROGATE = re.compile("[\ud800-\udfff]")
_HIGH_SURROGATE = re.compile("[\ud800-\udbff]\\Z")


def normalise(text: str) -> str:
    r"""*text* with ``\n`` line ends; halves of a pair joined, and what stands alone replaced."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", _REPLACEMENT)
    if _SURROGATE.search(text):
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


class Intake:
    """Normalises text that comes in pieces: a pair or a line end may be split between two."""

    def __init__(self) -> None:
        self._held = ""

    def take(self, piece: str) -> str:
        """What may be shown now; at most one character waits for the next piece."""
        text = self._held + piece
        self._held = ""
        if text.endswith("\r") or _HIGH_SURROGATE.search(text):
            self._held = text[-1]
            text = text[:-1]
        return normalise(text)
