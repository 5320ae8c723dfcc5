"""Every template compiles, and keeps to what the content security policy allows."""

import re
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from django.template import engines

from tests.support.stack import ROOT

TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
# A file that a person saves brings its own style and its own policy.
SAVED = {ROOT / "templates/chat/document.html"}


def names(paths: list[Path]) -> list[str]:
    """Paths below ``templates``, to name the tests."""
    return [str(path.relative_to(ROOT / "templates")) for path in paths]


@pytest.mark.parametrize("path", TEMPLATES, ids=names(TEMPLATES))
def test_it_compiles(path):
    """No page is broken by a tag that does not exist or is not closed."""
    engines["django"].get_template(str(path.relative_to(ROOT / "templates")))


@pytest.mark.parametrize("path", TEMPLATES, ids=names(TEMPLATES))
def test_it_has_nothing_that_the_policy_blocks(path):
    """No inline script, handler or style, and nothing from another host."""
    text = path.read_text()
    assert not re.search(r"<script(?![^>]*\bsrc=)(?![^>]*type=\"application/json\")", text)
    assert path in SAVED or not re.search(r"<style\b", text)
    assert not re.search(r"\sstyle=", text)
    assert not re.search(r"\son[a-z]+=", text)
    assert "javascript:" not in text
    assert not re.search(r"(?:src|srcset|action)=\"(?:https?:)?//", text)
    assert not re.search(r"<link[^>]+href=\"(?:https?:)?//", text)


@pytest.mark.parametrize("path", TEMPLATES, ids=names(TEMPLATES))
def test_its_static_files_are_there(path):
    """Each file that a page asks for exists."""
    for name in re.findall(r"{%\s*static\s+['\"]([^'\"]+)['\"]", path.read_text()):
        assert finders.find(name), name


@pytest.mark.parametrize("path", TEMPLATES, ids=names(TEMPLATES))
def test_links_are_links(path):
    """Whatever htmx does for a link or a form, the browser alone can do as well."""
    text = path.read_text()
    for tag in re.findall(r"<(?:a|form)\b[^>]*\bhx-(?:get|post)=[^>]*>", text):
        assert re.search(r"\b(?:href|action)=", tag), tag
