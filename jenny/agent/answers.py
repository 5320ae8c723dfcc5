"""Reads short answers of models, which are wrapped in thoughts, labels and quotes."""

import json
import re
import unicodedata

# Names of tags around a model's thoughts. A tag in backticks is only mentioned.
_NAMES = "think|thinking|thought|thoughts|reasoning|reflection|analysis|scratchpad"
_TAG = re.compile(
    rf"(?<!`)(?:<(?P<close>/?)(?:antml:|seed:)?(?:{_NAMES})(?:\s[^<>]*)?>"
    r"|\[(?P<bracket>/?)THINK\]|(?P<arrow>◁/?think▷))(?!`)",
    re.IGNORECASE,
)
_CHANNEL = re.compile(
    r"<\|channel\|>\s*(?:analysis|commentary)\b.*?"
    r"(?=<\|channel\|>\s*final\b|<\|(?:end|return)\|>|\Z)",
    re.DOTALL,
)
_THOUGHT = re.compile(
    r"<\|(?:begin_of_thought|start_thinking)\|>.*?(?:<\|(?:end_of_thought|end_thinking)\|>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_CONTROL = re.compile(r"<\|(?:start\|>\s*assistant\b|[a-z_]{1,24}\|>(?:\s*final\b)?)")

_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})[\w-]*\s*")
_BULLET = re.compile(r"\s*(?:[-*+•–>]|#{1,6}|1[.)])\s+(?=\S)")
# "Title" in the languages that models answer in.
_TITLE = (
    r"title|titel|titre|título|titulo|títol|titolo|titlu|titul|tytuł|název|názov|naslov|cím|"
    r"otsikko|pealkiri|virsraksts|pavadinimas|tittel|titill|başlık|judul|tajuk|tiêu đề|pamagat|"
    r"τίτλος|заголовок|название|назва|заглавие|наслов|тема|"
    r"标题|標題|题目|題目|タイトル|題名|件名|제목|العنوان|عنوان|כותרת|शीर्षक|শিরোনাম|தலைப்பு|"
    r"ชื่อเรื่อง|หัวข้อ|subject|topic|name"
)
_WRAP = r"[*_`#\s\"'“”„«»「」『』【】\[\]]*"
# A label is alone or after one or two words: "Suggested title:", "Titre proposé :".
_LABEL = re.compile(
    rf"{_WRAP}(?:[^\W\d_]+\s+){{0,2}}(?:{_TITLE})(?:\s+[^\W\d_]+)?{_WRAP}[:：﹕]\s*{_WRAP}",
    re.IGNORECASE,
)
# Phrases of models before the answer.
_OPENING = re.compile(
    r"(?:sure|certainly|of course|okay|ok|here(?:'s|’s| is| are)|voici|hier ist|aquí|ecco)\b"
    r"[^:：]{0,80}[:：]\s*",
    re.IGNORECASE,
)
_MARKUP = re.compile(
    r"</?(?:title|h[1-6]|b|i|em|strong|p|span|answer|output|result)\s*>", re.IGNORECASE
)
_QUOTES = " \t\"'“”„‟‘’‚«»‹›「」『』《》〈〉【】`*_"


def strip_reasoning(text: str) -> str:
    """Return *text* without the model's thoughts.

    Removed are closed tags with their content, everything after a tag that is never closed, and
    everything before a closing tag that was never opened.
    """
    return split_reasoning(text)[0]


def split_reasoning(text: str) -> tuple[str, str]:
    """Return the answer, and the text after a tag that is never closed."""
    text = _CONTROL.sub("", _THOUGHT.sub("", _CHANNEL.sub("", text)))
    kept: list[str] = []
    depth = at = opened = 0
    for tag in _TAG.finditer(text):
        closes = "/" in tag[0][:2]
        if closes and not depth:
            kept.clear()
        elif not closes and not depth:
            kept.append(text[at : tag.start()])
            opened = tag.end()
        depth = max(depth - 1, 0) if closes else depth + 1
        at = tag.end()
    if not depth:
        kept.append(text[at:])
    return "".join(kept).strip(), text[opened:] if depth else ""


def first_line(text: str, most: int) -> str:
    """Return the one line that a model was asked for, of at most *most* characters.

    This is the first line with a content, without labels, quotes and markup; empty when there is
    none.
    """
    for line in _lines(strip_reasoning(text)):
        plain = _unwrapped(line)
        if any(char.isalnum() for char in plain):
            return _shortened(plain, most)
    return ""


def _lines(text: str) -> list[str]:
    """Return the lines of an answer; of a JSON object, its first text."""
    lines = [line for line in text.splitlines() if not _FENCE.fullmatch(line)]
    inner = "\n".join(lines).strip()
    if inner.startswith("{") and inner.endswith("}"):
        try:
            value = json.loads(inner)
        except (ValueError, RecursionError):
            return lines
        return next(([text] for text in value.values() if isinstance(text, str)), [])
    return lines


def _unwrapped(line: str) -> str:
    line = "".join(" " if unicodedata.category(char) in _UNSEEN else char for char in line)
    line = " ".join(_MARKUP.sub("", line).split())
    while True:
        before = line
        for pattern in (_BULLET, _OPENING, _LABEL):
            if found := pattern.match(line):
                line = line[found.end() :]
        # A full stop belongs to a sentence, several dots to an ellipsis.
        if line.endswith((".", "。")) and not line.endswith(("..", "etc.")):
            line = line[:-1]
        line = line.strip(_QUOTES)
        if line == before:
            return line


# Control characters, line separators, and halves of surrogate pairs.
_UNSEEN = frozenset({"Cc", "Zl", "Zp", "Cs"})


def _shortened(line: str, most: int) -> str:
    if len(line) <= most:
        return line
    cut = line[: most - 1]
    at_word = cut.rfind(" ")
    return f"{cut[:at_word] if at_word > most // 2 else cut}…".replace(" …", "…")
