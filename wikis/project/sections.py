"""A line put under a heading of a page, and nothing else changed."""


def with_line(text: str, heading: str, line: str, *, before: str = "") -> str:
    """*text* with *line* at the end of the section *heading* of the second level. Where there is
    none, it is made: above the section *before*, or else at the end."""
    lines = text.rstrip("\n").split("\n")
    at = _find(lines, heading)
    if at is None:
        other = _find(lines, before) if before else None
        made = [f"## {heading}", "", line]
        if other is None:
            return "\n".join([*lines, "", *made, ""])
        return "\n".join([*lines[:other], *made, "", *lines[other:], ""])
    end = next((n for n in range(at + 1, len(lines)) if lines[n].startswith("#")), len(lines))
    rest = lines[end:]
    while end > at + 1 and not lines[end - 1].strip():
        end -= 1
    # A list goes on; after anything else, and after the heading, a line is left free.
    is_list = end > at + 1 and lines[end - 1].lstrip().startswith(("- ", "* "))
    gap = [] if is_list else [""]
    return "\n".join([*lines[:end], *gap, line, *(["", *rest] if rest else []), ""])


def _find(lines: list[str], heading: str) -> int | None:
    wanted = f"## {heading}".casefold()
    return next((n for n, one in enumerate(lines) if one.strip().casefold() == wanted), None)
