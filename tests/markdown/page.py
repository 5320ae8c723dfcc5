"""The browser's part of a stream of Markdown, as ``static/js/thread.js`` plays it."""

import re
from html import escape

from jenny.markdown.streaming import Done, Items, Op, Open

_MARK = '<span class="tail">'
# Only a whole block of code can be saved.
SAVE = re.compile('<button [^>]*data-save="[^>]*>Save</button>')


class Page:
    """Applies operations to what stands on the page, and counts what was sent for it."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.open = ""
        self.sent = 0

    def apply(self, ops: list[Op]) -> None:
        """Do what *ops* say; each must fit the chunks that are finished."""
        for op in ops:
            assert op.at == len(self.done), "the operation belongs to another state"
            if isinstance(op, Done):
                self.done.append(op.html)
                self.open = ""
                self.sent += len(op.html)
            elif isinstance(op, Open):
                self.open = op.html
                self.sent += len(op.html)
            elif isinstance(op, Items):
                depth, last = 0, -1
                for tag in re.finditer(r"<(/?)li\b", self.open):
                    last = tag.start() if not tag[1] and depth == 0 else last
                    depth += -1 if tag[1] else 1
                end = self.open.rindex("</li>") + len("</li>")
                after = re.sub(
                    r'<span class="tail">.*?</span>', "", self.open[end:], flags=re.DOTALL
                )
                self.open = self.open[:last] + op.html + after
                self.sent += len(op.html)
            else:
                # The mark holds text alone, so its end is the next end of a span.
                end = self.open.index("</span>", self.open.index(_MARK))
                self.open = self.open[:end] + escape(op.text, quote=False) + self.open[end:]
                self.sent += len(op.text)

    def shown(self) -> tuple[str, str]:
        """What `StreamRenderer.snapshot` returns for the same state."""
        return "".join(self.done), self.open

    def html(self) -> str:
        """All of it, without the mark for text that goes on."""
        start = self.open.find(_MARK)
        if start < 0:
            return "".join(self.done) + self.open
        end = self.open.index("</span>", start)
        inner = self.open[start + len(_MARK) : end]
        return "".join(self.done) + self.open[:start] + inner + self.open[end + len("</span>") :]
