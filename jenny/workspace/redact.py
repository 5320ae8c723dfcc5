"""Secrets taken out of a text before it is kept: well-known keys, private keys, bearer tokens,
passwords in addresses and connection strings.

What has the form of a secret is replaced by a mark that names its kind. Hashes, ids, prose and the
``sk-…`` of examples stay: a form counts only when nothing else is written like it
(``secret_forms``). A key that was wrapped into the next line goes as a whole; one whose parts
stand in different messages cannot be known.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from jenny.workspace import secret_forms as forms

_MARK = "[redacted: {}]"
# Keys are of these characters, and none is shorter.
_OF_KEYS = bytes(ord("x") if ord("!") <= byte <= ord("~") else ord(" ") for byte in range(256))
_LONG = re.compile(b"x" * 14 + b"x*")
# What stands for a key in instructions.
_PLACEHOLDER = re.compile(r"x{6,}|X{6,}|your[-_]|[-_]here\b|\.{3}", re.IGNORECASE)
_NAMES = ("KEY", "SECRET", "TOKEN", "PASSW")
_DIGIT_FIRST = re.compile(r"\d[A-Za-z]")
_LETTER_FIRST = re.compile(r"[A-Za-z]\d")


@dataclass(frozen=True, slots=True)
class Hit:
    """So many secrets of one kind; *kind* in words, as it stands in the text now."""

    kind: str
    count: int


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without its secrets, and what was taken out."""

    text: str
    hits: tuple[Hit, ...] = ()


def redact(text: str) -> Redacted:
    """*text* without its secrets. Redacting the result again changes nothing."""
    work = _Work(text)
    if "PRIVATE KEY" in text:
        work.text = forms.PRIVATE.sub(lambda _: work.mark("private key"), work.text)
    if "Private-Lines" in text:
        work.behind(forms.PUTTY, "private key")
    long = _long_words(text)
    for form in forms.FORMS if long else ():
        for hint in form.hints:
            if hint in long:
                work.keys(form)
                break
    if "sk-" in long:
        work.plain_keys()
    _named(work)
    return Redacted(work.text, tuple(Hit(kind, count) for kind, count in work.found.items()))


def _long_words(text: str) -> str:
    """The words in which a key may be. Most texts have none, and one quick look finds that out."""
    data = text.encode(errors="replace")
    words = [data[slice(*found.span())] for found in _LONG.finditer(data.translate(_OF_KEYS))]
    return b" ".join(words).decode("ascii")


def _named(work: "_Work") -> None:
    """What is a secret by what stands before it."""
    text = work.text
    small = text.lower()
    if "bearer" in small:
        work.behind(forms.BEARER, "bearer token", lambda token: _is_random(token, 32))
    if "basic" in small:
        work.behind(forms.BASIC, "password")
    if "://" in text:
        work.behind(forms.IN_ADDRESS, "password")
    if "=" not in text and ":" not in text:
        return
    if "?" in text or "&" in text:
        work.behind(forms.IN_QUERY, "secret in an address", _is_value)
    if ("password" in small or "pwd" in small or "key" in small) and forms.CONNECTION.search(text):
        work.behind(forms.IN_CONNECTION, "password", _is_value)
    if "secret" in small:
        work.behind(forms.SECRET_ACCESS, "AWS key")
    if any(name in text for name in _NAMES):
        work.behind(forms.VARIABLE, "secret", lambda value: _is_random(value, 32))


class _Work:
    """A text on its way, and what was found in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.found: dict[str, int] = {}

    def mark(self, kind: str) -> str:
        """What stands in the secret's place."""
        self.found[kind] = self.found.get(kind, 0) + 1
        return _MARK.format(kind)

    def keys(self, form: forms.Form) -> None:
        """Take out the keys of a form."""

        def replaced(match: re.Match[str]) -> str:
            rest = match["rest"]
            key = match[0] if rest is None else match[0][: match.start("rest") - match.start()]
            if _PLACEHOLDER.search(key):
                return match[0]
            return self._with_rest(form.kind, match, key)

        self.text = form.pattern.sub(replaced, self.text)

    def plain_keys(self) -> None:
        """Take out keys that only begin like one, where they are no words."""

        def replaced(match: re.Match[str]) -> str:
            if not _is_random(match["key"], 24) or _PLACEHOLDER.search(match["key"]):
                return match[0]
            key = match[0] if match["rest"] is None else f"sk-{match['key']}"
            return self._with_rest("API key", match, key)

        self.text = forms.PLAIN_KEY.sub(replaced, self.text)

    def behind(
        self, pattern: re.Pattern[str], kind: str, is_secret: Callable[[str], bool] = bool
    ) -> None:
        """Take out the second group of *pattern*; the first says what it is, and stays."""

        def replaced(match: re.Match[str]) -> str:
            return f"{match[1]}{self.mark(kind)}" if is_secret(match[2]) else match[0]

        self.text = pattern.sub(replaced, self.text)

    def _with_rest(self, kind: str, match: re.Match[str], key: str) -> str:
        """The mark; a next line stays when it is none of the key's."""
        rest = match["rest"]
        if rest is None or _is_random(rest, 1_000):
            return self.mark(kind)
        return self.mark(kind) + match[0][len(key.rstrip()) :]


def _is_value(text: str) -> bool:
    """Whether it is no placeholder and none of ours."""
    return not _PLACEHOLDER.search(text) and not text.startswith(("$", "{", "<", "%s", "***"))


def _is_random(text: str, long: int) -> bool:
    """Whether it is no words: digits within the letters, or one piece that is *long*."""
    if _DIGIT_FIRST.search(text) and _LETTER_FIRST.search(text):
        return True
    return len(text) >= long and not re.search(r"[-_./]", text)
