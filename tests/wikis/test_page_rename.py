"""After a page got another name, every link leads where it led, and nothing else changed."""

import random
from pathlib import Path

import pytest

from jenny.workspace.files import Actor, open_workspace
from tests.support.chance import seed
from wikis import page_rename, pages
from wikis.links import find_links
from wikis.page_index import Index, WikiIndex

NAMES = [
    "venus",
    "Mars_(planet)",
    "Earth (planet)",
    "R&D &amp; more",
    "100% sure",
    "Ünïcode",
    "deep/er/x",
    "a#b",
    "half (open",
    "under_score",
    "कि",
    "quote's",
    "it * is",
    "deep/venus moon",
]
FORMS = [
    "[[{plain}]]",
    "[[{plain}#Some *words*|the label]]",
    "![[{plain}]]",
    "- item\n  [[{plain}]]",
    "> [[{plain}|a]] and [b](<{path}> 'title')",
    "[x]({encoded})",
    "[x](<{path}>)",
    "[x](./{encoded}#a)",
    "![alt]({encoded})",
    "[x][r{n}]\n\n[r{n}]: {encoded} 'title'",
    "[r{n}]\n\n[r{n}]:\n<{path}>",
    "| a | b |\n|---|---|\n| x\\|y | [[{plain}\\|z]] [x]({encoded}) |",
    "## Head [[{plain}]] ##",
    "note[^{n}]\n\n[^{n}]: [[{plain}]] [x]({encoded})",
    "**[[{plain}]]**（[x]({encoded})）",
    "`[[{plain}]]` and ``[x]({encoded})``",
    "```\n[[{plain}]]\n```",
    "\\[[{plain}]]",
    "$x [[{plain}$",
]


def _encoded(path: str) -> str:
    for sign in "% #?\"'&*":
        path = path.replace(sign, f"%{ord(sign):02X}")
    return path.replace("(open", "%28open")


def _text(chance: random.Random, header: str) -> str:
    """A page with links of many kinds."""
    parts = []
    for n in range(chance.randint(1, 12)):
        name = chance.choice(NAMES)
        path = f"{name}.md"
        plain = name.replace("#", "-")
        form = chance.choice(FORMS)
        parts.append(
            form.format(
                plain=plain,
                path=path.replace("#", "%23").replace("100%", "100%25"),
                encoded=_encoded(path),
                n=n,
            )
        )
    end = chance.choice(["\n", "\r\n"])
    return (header + "\n\n".join(parts) + "\n").replace("\n", end)


def _leads(known: WikiIndex) -> dict[str, list[str]]:
    """For each page, where its links lead, in order."""
    return {
        path: [known.resolver.resolve(link, path).path for link in entry.links]
        for path, entry in known.entries.items()
    }


def _put(root: Path, path: str, text: str) -> None:
    file = root / "wikis/space" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())


@pytest.mark.parametrize("turn", range(40))
def test_all_links_lead_where_they_led(tmp_path: Path, turn: int) -> None:
    """Whatever form they have; a page that moves to another folder keeps its own links, too."""
    chance = random.Random(seed() + turn)
    for name in NAMES:
        header = chance.choice(["", f'---\nrelated: "[[{chance.choice(NAMES[:3])}]]"\n---\n'])
        _put(tmp_path, f"wiki/{name}.md", _text(chance, header))
    _put(tmp_path, "wiki/index.md", _text(chance, "# Space\n\n"))
    index = Index(tmp_path, None)
    before = index.known("space")
    led = _leads(before)
    assert sum(bool(path) for paths in led.values() for path in paths) > 5
    old = f"wiki/{chance.choice(NAMES)}.md"
    new = f"wiki/{chance.choice(['', 'new/', 'deep/'])}{chance.choice(NAMES)} 2.md"
    wiki = pages.open_wiki(tmp_path, "space")
    workspace = open_workspace(tmp_path, Actor("browser"))
    made = page_rename.plan(index, workspace, wiki, old, new)
    page_rename.apply_rename(workspace, wiki, made, made.digest)
    after = index.known("space")

    def renamed(path: str) -> str:
        return new if path == old else path

    for path, paths in led.items():
        now = _leads(after)[renamed(path)]
        assert len(now) == len(paths)
        # A link that led nowhere may lead somewhere from another folder.
        assert [at for at, was in zip(now, paths, strict=True) if was] == [
            renamed(was) for was in paths if was
        ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            'See [x][r] and [r].\n\n[r]: venus.md "t"\n',
            'See [x][r] and [r].\n\n[r]: new%20name.md "t"\n',
        ),
        ("[x](venus.md#a 't')", "[x](new%20name.md#a 't')"),
        ("[x](<venus.md>)", "[x](<new name.md>)"),
        ("[x](./venus)", "[x](./new%20name)"),
        ("[[venus#A|b]] `[[venus]]`", "[[new name#A|b]] `[[venus]]`"),
        ("| a |\n|---|\n| [[venus\\|b]] |", "| a |\n|---|\n| [[new name\\|b]] |"),
        (
            "---\nrelated: \"[[venus]]\"\nsee: # [[venus]]\n  - '[[venus|b]]'\n---\n",
            "---\nrelated: \"[[new name]]\"\nsee: # [[venus]]\n  - '[[new name|b]]'\n---\n",
        ),
        ("```\n[[venus]]\n```\r\n<!--\n[[venus]]\n-->\n\\[[venus]]", None),
    ],
)
def test_only_the_name_changes(tmp_path: Path, before: str, after: str | None) -> None:
    """Label, title, anchor, brackets and line ends stay; so does what is no link."""
    _put(tmp_path, "wiki/venus.md", "# Venus\n")
    _put(tmp_path, "wiki/other.md", before)
    index = Index(tmp_path, None)
    wiki = pages.open_wiki(tmp_path, "space")
    workspace = open_workspace(tmp_path, Actor("browser"))
    made = page_rename.plan(index, workspace, wiki, "wiki/venus.md", "wiki/new name.md")
    page_rename.apply_rename(workspace, wiki, made, made.digest)
    text = (tmp_path / "wikis/space/wiki/other.md").read_bytes().decode()
    assert text == (before if after is None else after)
    assert {link.target for link in find_links(text)} <= {"new name", "new name.md", "./new name"}
