from typing import Any

from jenny.markdown.comments import without_comments
from jenny.markdown.html import highlight
from jenny.markdown.render import render as render_markdown
from settings_ui.browsing import kinds, tables
from settings_ui.browsing.kinds import Kind


def shown(kind: Kind, name: str, head: bytes) -> dict[str, Any]:
    if not kind.is_text:
        return {}
    text = head.decode("utf-8", "replace").removeprefix("\ufeff")
    if kind.view == "markdown":
        # Comments are for other authors; the raw file and the editor show them.
        return {"html": render_markdown(without_comments(text))}
    if kind.view == "table":
        tabs = name.lower().endswith(".tsv")
        return {"table": tables.csv_table(text, tabs=tabs)}
    if kind.view == "lines":
        lines, left_out = tables.json_lines(text)
        return {"json_lines": lines, "left_out": left_out}
    language = kinds.LANGUAGES.get(kinds.ending(name), "")
    return {"code": highlight(text, language) if language else None, "text": text}
