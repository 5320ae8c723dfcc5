"""What a browser would make of HTML, read by Python's own parser, apart from the product."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"br", "hr", "img", "input"}
HARMLESS = {
    "a", "b", "blockquote", "br", "button", "code", "dd", "del", "details", "div", "dl", "dt",
    "em", "h3", "h4", "h5", "h6", "hr", "i", "img", "input", "ins", "kbd", "li", "mark", "ol", "p",
    "pre", "q", "s", "section", "small", "span", "strong", "sub", "summary", "sup", "table",
    "tbody", "td", "th", "thead", "tr", "u", "ul", "math", "mrow", "mi", "mn", "mo",
    "mtext", "mspace", "msup", "msub", "msubsup", "munder", "mover", "munderover",
    "mfrac", "msqrt", "mroot", "mtable", "mtr", "mtd", "mstyle", "mpadded", "mphantom", "menclose",
}  # fmt: skip
SCHEMES = ("http://", "https://", "mailto:", "tel:", "#", "/")
PICTURES = tuple(f"data:image/{kind};base64," for kind in ("png", "jpeg", "gif", "webp"))


@dataclass
class Seen(HTMLParser):
    """Everything that one piece of HTML holds, and what of it should not be there."""

    html: str
    faults: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    attributes: list[tuple[str, str, str]] = field(default_factory=list)
    text: str = ""

    def __post_init__(self) -> None:
        super().__init__()
        self._open: list[str] = []
        self.feed(self.html)
        self.close()
        if self._open:
            self.faults.append(f"not closed: {self._open}")

    def __hash__(self) -> int:
        return id(self)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """A tag opens."""
        self.tags.append(tag)
        if tag not in HARMLESS:
            self.faults.append(f"tag {tag}")
        if tag not in VOID:
            self._open.append(tag)
        for name, value in attrs:
            self.attributes.append((tag, name, value or ""))
            self._judge(tag, name, value or "")

    def handle_endtag(self, tag: str) -> None:
        """A tag closes."""
        if tag in VOID:
            return
        if not self._open or self._open.pop() != tag:
            self.faults.append(f"closed out of order: {tag}")

    def handle_data(self, data: str) -> None:
        """Text."""
        self.text += data

    def handle_comment(self, data: str) -> None:
        """No comment belongs in a message."""
        self.faults.append(f"comment {data}")

    def handle_decl(self, decl: str) -> None:
        """Nor a declaration."""
        self.faults.append(f"declaration {decl}")

    def handle_pi(self, data: str) -> None:
        """Nor an instruction."""
        self.faults.append(f"instruction {data}")

    def _judge(self, tag: str, name: str, value: str) -> None:
        if name.startswith("on") or name in {"style", "srcdoc", "srcset", "formaction", "action"}:
            self.faults.append(f"attribute {name}={value}")
        if ":" in name:
            self.faults.append(f"attribute {name}")
        allowed = PICTURES if (tag, name) == ("img", "src") else SCHEMES
        if name in {"href", "src"} and not value.lower().startswith(allowed):
            self.faults.append(f"address {value}")
        if name == "href" and value.startswith("//"):
            self.faults.append(f"address {value}")
        if tag == "button" and name == "type" and value != "button":
            self.faults.append(f"button {value}")
        if name in {"id", "name"} and not value.startswith(("fn-", "fnref-")):
            self.faults.append(f"{name} {value}")

    def of(self, tag: str, name: str) -> list[str]:
        """The values that *tag* has for the attribute *name*, in order."""
        return [value for owner, key, value in self.attributes if (owner, key) == (tag, name)]
