"""Names of Anthropic's models, as suggestions for a form.

They are read from the SDK's source: importing the SDK would cost the web server a second
and 60 MB for a list of words.
"""

import ast
import functools
import importlib.util
from pathlib import Path

_FALLBACK = ("claude-sonnet-5-5",)


@functools.cache
def known() -> tuple[str, ...]:
    """The names that the installed SDK knows, in its order."""
    spec = importlib.util.find_spec("anthropic")
    if spec is None or spec.origin is None:
        return _FALLBACK
    try:
        source = (Path(spec.origin).parent / "types" / "model.py").read_text(encoding="utf-8")
        tree = ast.parse(source)
    except (OSError, SyntaxError):
        return _FALLBACK
    words = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    names = (word for word in words if isinstance(word, str) and word.startswith("claude-"))
    return tuple(dict.fromkeys(names)) or _FALLBACK


def suggested() -> str:
    """The name to begin with where nobody chose one."""
    return next((name for name in known() if "sonnet" in name), known()[0])
