"""A file's content as a page shows it, by its kind (``templates/files/shown.html``)."""

import re
from typing import Any

from jenny.markdown.highlight import highlight
from jenny.markdown.render import render as render_markdown
from settings_ui.browsing import kinds, tables
from settings_ui.browsing.kinds import Kind

# What an author wrote for other authors; the raw file and the editor show it.
_COMMENT = re.compile(r"^<!--.*?-->[ \t]*$\n?", re.DOTALL | re.MULTILINE)


def shown(kind: Kind, name: str, head: bytes) -> dict[str, Any]:
    """What a page shows of a file of that name, by its kind; *head*: its bytes, or the first of
    them."""
    if not kind.is_text:
        return {}
    text = head.decode("utf-8", "replace").removeprefix("\ufeff")
    if kind.view == "markdown":
        return {"html": render_markdown(_COMMENT.sub("", text))}
    if kind.view == "table":
        tabs = name.lower().endswith(".tsv")
        return {"table": tables.csv_table(text, tabs=tabs)}
    if kind.view == "lines":
        lines, left_out = tables.json_lines(text)
        return {"json_lines": lines, "left_out": left_out}
    language = kinds.LANGUAGES.get(kinds.ending(name), "")
    return {"code": highlight(text, language) if language else None, "text": text}
