"""Wikis as they are changed: edited, renamed, deleted, made, commented on and looked through."""

import json
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command
from django.dispatch import Signal
from django.test import Client

from jenny.chat.tools import toolbox_for
from jenny.workspace import trash
from jenny.workspace.errors import WorkspaceError
from tests.wikis.conftest import get, put
from wikis import page_rename, scaffold, signals

EDIT = "/wiki/edit/bees/wiki/hive.md/"


@pytest.fixture
def bees(root: Path) -> Path:
    """A wiki with a few pages."""
    put(root, "bees/AGENTS.md", "---\nsummary: Our hives\n---\n")
    put(root, "bees/wiki/index.md", "# Bees\n\n[[hive]], [[Hive#Wood|the box]], `[[hive]]`\n")
    put(root, "bees/wiki/hive.md", "# Hive\n\nA box of spruce. A box of pine.\n")
    put(root, "bees/wiki/near.md", "# Near\r\n\r\n[a](hive.md#wood) and [[hive.md]]\r\n")
    put(root, "zoo/wiki/index.md", "# Zoo\n\n[[bees:hive|them]]\n")
    return root / "wikis/bees"


def test_a_page_is_edited_in_place(client: Client, bees: Path) -> None:
    """Saved through the funnel with its line ends; the page says so."""
    version = client.get(EDIT).context["version"]
    answer = client.post(
        EDIT, {"text": "# New\r\n\r\n[[index]]\r\n", "version": version}, follow=True
    )
    assert "hive is saved" in answer.content.decode()
    assert (bees / "wiki/hive.md").read_bytes() == b"# New\n\n[[index]]\n"


@pytest.mark.parametrize("name", ["site-roadmap", "Site_Roadmap", "SITE ROADMAP", "Sité Roadmap"])
def test_one_name_is_one_page(client: Client, bees: Path, name: str) -> None:
    """Case, dashes, spaces and accents make no second page: the form says so, with a link to the
    page that is there; a folder is a difference, and a page may be renamed to such a name."""
    put(bees.parent.parent, "bees/wiki/Site Roadmap.md", "# Site Roadmap\n")
    answer = client.post("/wiki/new/bees/", {"page": name, "text": "mine"})
    page = answer.content.decode()
    assert answer.status_code == 422
    assert 'href="/wikis/bees/Site%20Roadmap.md' in page
    assert "There is such a page already" in page
    assert "mine" in page
    assert {file.name for file in (bees / "wiki").iterdir() if "oadmap" in file.name.lower()} == {
        "Site Roadmap.md"
    }
    answer = client.post("/wiki/rename/bees/wiki/hive.md/", {"to": name})
    assert answer.status_code == 422
    assert "Nothing was renamed" in answer.content.decode()
    assert client.post("/wiki/rename/bees/wiki/Site Roadmap.md/", {"to": name}).status_code == 200
    assert client.post("/wiki/new/bees/", {"page": f"plans/{name}", "text": "x"}).status_code == 302


def test_nobodys_work_is_written_over(client: Client, bees: Path) -> None:
    """Both texts are shown, the draft is kept, nothing is written; saving again replaces what was
    shown; a page that went is made again on a second yes."""
    file = bees / "wiki/hive.md"
    version = client.get(EDIT).context["version"]
    file.write_text("theirs\n")
    answer = client.post(EDIT, {"text": "mine\n", "version": version})
    assert answer.status_code == 409
    assert "theirs" in answer.content.decode()
    assert "mine" in answer.content.decode()
    assert file.read_text() == "theirs\n"
    file.unlink()
    answer = client.post(EDIT, {"text": "mine\n", "version": answer.context["version"]})
    assert answer.status_code == 409
    assert not file.exists()
    client.post(EDIT, {"text": "mine\n", "version": answer.context["version"]})
    assert file.read_text() == "mine\n"


def test_a_new_page_is_linked_from_the_first_one(client: Client, bees: Path) -> None:
    """If that is left ticked: once, and above what is open; a first page that links to it already
    stays as it is."""
    index = bees / "wiki/index.md"
    assert 'name="link" id="id_link" checked' in get(client, "/wiki/new/bees/")
    index.write_text("# Bees\n\n[[Wax]]\n\n## Open\n")
    for name, link in (("Smoke", ""), ("Wax", "on"), ("concepts/Queen bee", "on")):
        client.post("/wiki/new/bees/", {"page": name, "text": f"# {name[-9:]}\n", "link": link})
        assert (bees / f"wiki/{name}.md").exists()
    assert index.read_text() == (
        "# Bees\n\n[[Wax]]\n\n## Pages\n\n- [[concepts/Queen bee|Queen bee]]\n\n## Open\n"
    )
    client.post("/wiki/new/bees/", {"page": "Smoke", "text": "again", "link": "on"})
    assert (bees / "wiki/Smoke.md").read_text() == "# Smoke\n"
    assert "Smoke" not in index.read_text()
    index.unlink()
    client.post("/wiki/new/bees/", {"page": "Honey", "text": "# Honey\n", "link": "on"})
    assert (bees / "wiki/Honey.md").exists()
    assert not index.exists()


def test_a_new_wiki_says_its_scope_once(client: Client, root: Path) -> None:
    """Above its first page, which does not repeat it."""
    form = {"name": "birds", "scope": "The birds that come to the window"}
    answer = client.post("/wiki/create/", form, follow=True)
    page = answer.content.decode().partition("<main")[2]
    assert page.count("The birds that come to the window") == 1
    assert "The birds" in (root / "wikis/birds/AGENTS.md").read_text()


@pytest.mark.parametrize(
    "path", ["../../USER.md", "wiki/out.md", "wiki/pic.png", "wiki", "wiki/nobody.md"]
)
def test_only_pages_of_the_wiki_are_edited(
    client: Client, root: Path, bees: Path, path: str
) -> None:
    """Nothing else of the workspace by this way."""
    (bees / "wiki/out.md").symlink_to(root / "USER.md")
    before_ = (root / "USER.md").read_bytes()
    assert client.get(f"/wiki/edit/bees/{path}/").status_code in {404, 422}
    answer = client.post(f"/wiki/edit/bees/{path}/", {"text": "x", "version": ""})
    assert (root / "USER.md").read_bytes() == before_
    assert answer.status_code in {404, 422} or path == "wiki/nobody.md"


def test_a_text_is_shown_before_it_is_saved(client: Client, bees: Path) -> None:
    """With the wiki's links; nothing of it runs."""
    text = "---\ntitle: T\n---\n[[hive]] <script>x</script>\n\n```mermaid\na\n```\n"
    answer = client.post("/wiki/preview/bees/", {"text": text, "path": "wiki/hive.md"})
    page = answer.content.decode()
    assert 'href="/wikis/bees/hive.md"' in page
    assert "<script" not in page
    assert "<iframe" not in page
    assert "drawn once the page is saved" in page


def test_a_missing_page_is_written_from_its_link(client: Client, bees: Path) -> None:
    """Where the link wants it, with a title; what is there is not written over."""
    page = get(client, "/wiki/new/bees/?page=Queen+bee")
    assert 'value="Queen bee"' in page
    assert "# Queen bee" in page
    answer = client.post("/wiki/new/bees/", {"page": "concepts/Queen bee", "text": "# Q\r\n"})
    assert answer["Location"] == "/wikis/bees/concepts/Queen%20bee.md"
    assert (bees / "wiki/concepts/Queen bee.md").read_bytes() == b"# Q\n"
    for name in ("hive", "HIVE.md", "../x", "a\\b", "", "CON"):
        answer = client.post("/wiki/new/bees/", {"page": name, "text": "my words"})
        assert answer.status_code == 422, name
        assert "my words" in answer.content.decode(), name
    assert (bees / "wiki/hive.md").read_text().startswith("# Hive")


def rename(client: Client, to: str) -> dict[str, str]:
    """The preview of renaming the hive; what its form sends."""
    answer = client.post("/wiki/rename/bees/wiki/hive.md/", {"to": to})
    assert answer.status_code == 200, answer.content.decode()
    return {"to": to, "digest": answer.context["plan"].digest}


def test_renaming_takes_every_link_along(client: Client, root: Path, bees: Path) -> None:
    """Shown first; words, anchors, code and line ends stay; links from other wikis, relative
    links and feedback go with it."""
    put(root, "bees/wiki/box.md", "# Box\n")
    put(root, "bees/raw/paper.md", "A source that says [[hive]].\n")
    client.post("/wiki/comment/bees/wiki/hive.md/", {
        "passage": "of spruce", "severity": "info", "comment": "Really?"})  # fmt: skip
    form = rename(client, "things/box")
    assert (bees / "wiki/hive.md").exists()
    answer = client.post("/wiki/rename/bees/wiki/hive.md/", form, follow=True)
    assert "The page is things/box now. 5 links changed with it." in answer.content.decode()
    assert "Really?" in answer.content.decode()
    assert not (bees / "wiki/hive.md").exists()
    assert (bees / "wiki/things/box.md").read_text().startswith("# Hive")
    assert (bees / "wiki/index.md").read_text() == (
        "# Bees\n\n[[things/box]], [[things/box#Wood|the box]], `[[hive]]`\n"
    )
    near = (bees / "wiki/near.md").read_bytes()
    assert near == b"# Near\r\n\r\n[a](things/box.md#wood) and [[things/box]]\r\n"
    assert "[[hive]]" in (root / "wikis/bees/raw/paper.md").read_text()
    assert (root / "wikis/zoo/wiki/index.md").read_text() == "# Zoo\n\n[[bees:things/box|them]]\n"
    assert "dead" not in {kind for kind, *_ in client.get("/wiki/health/bees/").context["groups"]}


def test_renaming_writes_nothing_that_was_not_shown(client: Client, bees: Path) -> None:
    """A page that changed meanwhile: the new plan is shown, and nothing was written."""
    form = rename(client, "box")
    (bees / "wiki/index.md").write_text("# Bees\n\n[[hive]] and more\n")
    answer = client.post("/wiki/rename/bees/wiki/hive.md/", form)
    assert answer.status_code == 409
    assert "Nothing was written" in answer.content.decode()
    assert (bees / "wiki/hive.md").exists()
    assert not (bees / "wiki/box.md").exists()


@pytest.mark.parametrize("to", ["index", "../../USER", "", "a\\b", "near.md"])
def test_a_page_is_renamed_to_nothing_that_is_taken_or_cannot_be(
    client: Client, bees: Path, to: str
) -> None:
    """Each with its reason; everything is as it was."""
    answer = client.post("/wiki/rename/bees/wiki/hive.md/", {"to": to, "digest": "x"})
    assert answer.status_code == 422
    assert (bees / "wiki/hive.md").exists()


def test_a_new_name_that_others_have_makes_their_links_exact(
    client: Client, root: Path, bees: Path
) -> None:
    """A link that a rename would make ambiguous is written with its path."""
    put(root, "bees/wiki/deep/comb.md", "# Comb\n")
    put(root, "bees/wiki/index.md", "[[comb]] [[hive]]\n")
    answer = client.post(
        "/wiki/rename/bees/wiki/hive.md/", rename(client, "other/comb"), follow=True
    )
    assert answer.status_code == 200
    assert (bees / "wiki/index.md").read_text() == "[[deep/comb]] [[other/comb]]\n"


def test_a_deleted_page_lies_in_the_trash(client: Client, bees: Path, root: Path, ana) -> None:
    """After a yes that says how many pages link to it."""
    page = get(client, "/wiki/delete/bees/wiki/hive.md/")
    assert "3 pages link to it" in page
    assert (bees / "wiki/hive.md").exists()
    client.post("/wiki/delete/bees/wiki/hive.md/")
    assert not (bees / "wiki/hive.md").exists()
    store = settings.JENNY_DATA.trash / str(ana.current_workspace.pk)
    assert [item.path for item in trash.listing(store)] == ["wikis/bees/wiki/hive.md"]


def test_a_wiki_is_made_with_name_and_scope(client: Client, root: Path) -> None:
    """It has its layout; names that mean one that is there, and no scope, are refused."""
    answer = client.post("/wiki/create/", {"name": "garden", "scope": 'Plants: "all" of\n them'})
    assert answer["Location"] == "/wikis/garden/"
    page = get(client, "/wikis/garden/")
    assert "Plants: &quot;all&quot; of them" in page
    assert "Plants: &quot;all&quot; of them" in get(client, "/wikis/")
    for folder in ("raw", "log", "audit"):
        assert (root / "wikis/garden" / folder).is_dir()
    for name, scope in (
        ("Garden", "x"),
        ("gärden", "x"),
        ("..", "x"),
        ("b", " "),
        ("c", "x" * 501),
    ):
        answer = client.post("/wiki/create/", {"name": name, "scope": scope})
        assert answer.status_code == 422, name
        assert "Nothing was made" in answer.content.decode() or not scope.strip()
    title = "../Zahrádka u domu"
    answer = client.post("/wiki/create/", {"name": title, "scope": "x"}, follow=True)
    assert "in the folder wikis/zahradka-u-domu" in answer.content.decode()
    assert {path.name for path in (root / "wikis").iterdir()} == {"garden", "zahradka-u-domu"}


def test_scaffolding_never_writes_over(root: Path) -> None:
    """What is there stays; what is missing is added."""
    from jenny.workspace.files import Actor, open_workspace

    put(root, "mine/AGENTS.md", "my own")
    files = open_workspace(root, Actor("browser"))
    assert scaffold.scaffold(files, "mine", "scope") == ("wikis/mine/wiki/index.md",)
    assert scaffold.scaffold(files, "mine", "scope") == ()
    assert (root / "wikis/mine/AGENTS.md").read_text() == "my own"


def test_the_scope_is_set_where_it_is_missing(client: Client, root: Path, bees: Path) -> None:
    """From what Health says, also without an AGENTS.md; a header that is not understood stays."""
    put(root, "bare/wiki/index.md", "# Bare\n")
    assert 'href="/wiki/scope/bare/"' in get(client, "/wiki/health/bare/")
    answer = client.post("/wiki/scope/bare/", {"scope": "Bare things: all"}, follow=True)
    assert "The scope is saved" in answer.content.decode()
    assert "Bare things: all" in get(client, "/wikis/")
    put(root, "bees/AGENTS.md", "---\na: b: c\n---\n")
    answer = client.post("/wiki/scope/bees/", {"scope": "x"})
    assert answer.status_code == 422
    assert "Nothing was written" in answer.content.decode()
    assert (bees / "AGENTS.md").read_text() == "---\na: b: c\n---\n"


def test_a_wiki_is_deleted_after_a_snapshot(client: Client, root: Path, bees: Path, ana) -> None:
    """It asks; the snapshot holds it, the trash too."""
    assert "3 files" in get(client, "/wiki/remove/bees/")
    assert bees.exists()
    answer = client.post("/wiki/remove/bees/", follow=True)
    assert "is in the trash" in answer.content.decode()
    assert "before a deletion" in answer.content.decode()
    assert not bees.exists()
    assert "zoo" in get(client, "/wikis/")
    assert (settings.JENNY_DATA.snapshots / f"{ana.current_workspace.pk}.git").is_dir()


def test_without_a_snapshot_nothing_is_deleted(
    client: Client, bees: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page says why."""

    def broken(**_: object) -> str:
        raise WorkspaceError("The disk is full. No snapshot was taken.")

    only = Signal()
    only.connect(broken)
    monkeypatch.setattr(signals, "wiki_deleting", only)
    answer = client.post("/wiki/remove/bees/")
    assert answer.status_code == 422
    assert "The disk is full" in answer.content.decode()
    assert bees.exists()


def test_a_wiki_that_cannot_go_keeps_its_conversations(
    client: Client, bees: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are taken when the folder is in the trash; where they stay, it comes back."""
    taken: list[bool] = []

    def take(**_: object) -> str:
        taken.append(bees.exists())
        raise WorkspaceError("An answer is being written in this project.")

    only = Signal()
    only.connect(take)
    monkeypatch.setattr(signals, "conversations_deleting", only)
    answer = client.post("/wiki/remove/bees/", {"talks": "delete"})
    assert answer.status_code == 422
    assert "An answer is being written" in answer.content.decode()
    assert (bees / "wiki/hive.md").exists()
    assert taken == [False]

    def refused(*_: object, **__: object) -> None:
        raise WorkspaceError("The disk refuses.")

    monkeypatch.setattr(trash, "move_to_trash", refused)
    assert client.post("/wiki/remove/bees/", {"talks": "delete"}).status_code == 422
    assert taken == [False]


def test_a_passage_is_commented_on_and_resolved(client: Client, bees: Path) -> None:
    """Kept as a file with the text around it; the resolved copy has its own place."""
    address = "/wiki/comment/bees/wiki/hive.md/"
    said = {
        "passage": "A  box",
        "before": "spruce.",
        "severity": "error",
        "comment": "Oak! <b>\n---\n",
    }
    assert client.post(address, said).status_code == 302
    (file,) = (bees / "audit").glob("*.md")
    text = file.read_text()
    assert 'before: "A box of spruce. "' in text
    assert 'after: " of pine."' in text
    page = get(client, "/wikis/bees/hive.md")
    assert "Oak! &lt;b&gt;" in page
    assert 'data-before="A box of spruce. "' in page
    (bees / "wiki/hive.md").write_text("# Hive\n\nAll new.\n")
    assert "not on the page any more" in get(client, "/wikis/bees/hive.md")
    answer = client.post(f"/wiki/resolve/bees/{file.stem}/", {"answer": "Changed to oak."})
    assert answer.status_code == 302
    assert not file.exists()
    resolved = bees / "audit/resolved" / file.name
    assert "Oak!" in get(client, f"/wikis/bees/audit/resolved/{file.name}")
    assert client.get("/wikis/bees/audit/")["Location"] == "/wiki/feedback/bees/"
    assert "status: resolved" in resolved.read_text()
    assert "Changed to oak." in get(client, "/wiki/feedback/bees/")
    assert client.post(f"/wiki/resolve/bees/{file.stem}/").status_code == 302
    assert client.post("/wiki/resolve/bees/../x/").status_code == 404


def test_a_long_comment_with_a_heading_survives_a_rename(client: Client, bees: Path) -> None:
    """What a person wrote by hand stays whole, also where it looks like the end of a comment."""
    words = {"passage": "A box of pine.", "severity": "info", "comment": "First."}
    client.post("/wiki/comment/bees/wiki/hive.md/", words)
    (file,) = (bees / "audit").glob("*.md")
    tail = f"## Resolved\n\nNot yet.\n\n{'x' * 5_000}\nThe end."
    file.write_text(file.read_text() + f"\n{tail}\n")
    where = "/wiki/rename/bees/wiki/hive.md/"
    plan = client.post(where, {"to": "house"}).context["plan"]
    assert client.post(where, {"to": "house", "digest": plan.digest}).status_code == 302
    assert "wiki/house.md" in file.read_text()
    assert tail in file.read_text()
    client.post(f"/wiki/resolve/bees/{file.stem}/", {"answer": "Done."})
    resolved = (bees / "audit/resolved" / file.name).read_text()
    assert tail in resolved
    assert resolved.rstrip().endswith("## Resolved\n\nDone.")


@pytest.mark.parametrize(
    "form",
    [
        {"passage": "not there", "severity": "info", "comment": "x"},
        {"passage": "box", "severity": "loud", "comment": "x"},
        {"passage": "box", "severity": "info", "comment": " "},
        {"passage": "", "severity": "info", "comment": "x"},
    ],
)
def test_feedback_that_says_nothing_is_not_kept(
    client: Client, bees: Path, form: dict[str, str]
) -> None:
    """The form comes back."""
    answer = client.post("/wiki/comment/bees/wiki/hive.md/", form)
    assert answer.status_code == 422
    assert not (bees / "audit").exists()


def test_foreign_files_in_audit_are_left_alone(client: Client, root: Path, bees: Path) -> None:
    """They are named, and break nothing; of two copies of one, the resolved one counts."""
    put(root, "bees/audit/notes.md", "no header")
    put(root, "bees/audit/20260101-000000-abcd.md", "---\nseverity: [\n---\n")
    put(root, "bees/audit/20260101-000000-ffff.md", b"\xff\xfe")
    client.post("/wiki/comment/bees/wiki/hive.md/", {
        "passage": "box", "severity": "warn", "comment": "Twice?"})  # fmt: skip
    file = next(path for path in (bees / "audit").glob("*.md") if b"Twice?" in path.read_bytes())
    (bees / "audit/resolved").mkdir()
    (bees / "audit/resolved" / file.name).write_bytes(file.read_bytes())
    page = get(client, "/wiki/feedback/bees/")
    assert "notes.md" in page
    assert page.count("Twice?") == 1
    assert "Nothing is open" in page


def test_lint_finds_what_is_wrong(
    client: Client, root: Path, capsys: pytest.CaptureFixture
) -> None:
    """On the page and by the command, which fails then."""
    put(root, "bad/wiki/index.md", "# Bad\n\n[[one]] [[gone]] [[twin]]\n")
    put(root, "bad/wiki/one.md", "# One\n\n[[Gone]] [[nowhere:x]]\n")
    put(root, "bad/wiki/lonely.md", "# Same\n\nwords\n")
    put(root, "bad/wiki/a/twin.md", "# Same\n")
    put(root, "bad/wiki/b/twin.md", "# Same\n\nwords\n")
    put(root, "bad/wiki/bytes.md", b"\xff")
    put(root, "bad/wiki/head.md", "---\na: b: c\n---\n\n[plan](plan.pdf) ![x](x.png) [y](y.md)\n")
    kinds = {kind for kind, *_ in client.get("/wiki/health/bad/").context["groups"]}
    assert kinds == {
        "scope", "unreadable", "header", "dead", "unclear", "wanted", "orphan", "unindexed",
        "duplicate",
    }  # fmt: skip
    page = get(client, "/wikis/bad/")
    assert "things to put right" in page
    with pytest.raises(SystemExit) as caught:
        call_command("lint_wiki", "bad", "--json")
    assert caught.value.code == 1
    told = json.loads(capsys.readouterr().out)
    messages = {row["message"] for row in told["findings"] if row["path"] == "wiki/head.md"}
    assert {
        "There is no file “plan.pdf”.", "There is no file “x.png”.", "There is no page “y.md”.",
    } <= messages  # fmt: skip
    wanted = [row for row in told["findings"] if row["kind"] == "wanted"]
    assert [(row["target"], len(row["pages"])) for row in wanted] == [("gone", 2)]
    client.post("/wiki/create/", {"name": "good", "scope": "All is well"})
    (root / "wikis/good/wiki/index.md").write_text("# Good\n")
    call_command("lint_wiki", "good", "--json")
    assert json.loads(capsys.readouterr().out)["findings"] == []


def test_a_page_is_no_way_to_the_memorys_books(client: Client, bees: Path, root: Path) -> None:
    """Whatever the address of the form."""
    version = client.get(EDIT).context["version"]
    history = root / "memory/history.jsonl"
    before_ = history.read_bytes() if history.exists() else None
    for path in ("../../memory/history.jsonl", "wiki/../../../memory/history.jsonl"):
        client.post(f"/wiki/edit/bees/{path}/", {"text": "x", "version": version})
    assert (history.read_bytes() if history.exists() else None) == before_


def test_a_folder_that_moves_in_files_takes_its_links_along(
    client: Client, root: Path, bees: Path
) -> None:
    """Renamed or moved in the file browser, as a page that is renamed in the wiki: links to its
    pages and files, links of its pages, links of other wikis and feedback."""
    put(
        root,
        "bees/wiki/parts/comb.md",
        "# Comb\n\nOf wax. [up](../hive.md) ![c](comb.png) [[hive]]\n",
    )
    put(root, "bees/wiki/parts/comb.png", b"\x89PNG")
    put(root, "bees/wiki/near.md", "[c](parts/comb.md) ![c](<parts/comb.png>) [[parts/comb|it]]\n")
    put(root, "zoo/wiki/index.md", "# Zoo\n\n[[bees:parts/comb]] [[bees:hive]]\n")
    client.post("/wiki/comment/bees/wiki/parts/comb.md/", {
        "passage": "Of wax", "severity": "info", "comment": "Really?"})  # fmt: skip
    answer = client.post(
        "/files/move/wikis/bees/wiki/parts/",
        {"to": "wikis/bees/wiki/things/all parts"},
        follow=True,
    )
    assert "is now wikis/bees/wiki/things/all parts. 5 links changed" in answer.content.decode()
    moved = bees / "wiki/things/all parts/comb.md"
    assert moved.read_text() == "# Comb\n\nOf wax. [up](../../hive.md) ![c](comb.png) [[hive]]\n"
    assert (bees / "wiki/near.md").read_text() == (
        "[c](things/all%20parts/comb.md) ![c](<things/all parts/comb.png>) [[comb|it]]\n"
    )
    zoo = root / "wikis/zoo/wiki/index.md"
    assert zoo.read_text() == "# Zoo\n\n[[bees:comb]] [[bees:hive]]\n"
    assert "Really?" in get(client, "/wikis/bees/things/all parts/comb.md")
    client.post("/files/move/wikis/bees/wiki/hive.md/", {"to": "wikis/bees/wiki/box.md"})
    assert zoo.read_text() == "# Zoo\n\n[[bees:comb]] [[bees:box]]\n"
    assert "[up](../../box.md)" in moved.read_text()
    client.post("/files/move/wikis/bees/", {"to": "wikis/hives"})
    assert zoo.read_text() == "# Zoo\n\n[[hives:comb]] [[hives:box]]\n"
    for name in ("hives", "zoo"):
        groups = client.get(f"/wiki/health/{name}/").context["groups"]
        assert "dead" not in {kind for kind, *_ in groups}, name


def test_a_folder_stays_when_its_links_cannot_be_written(
    client: Client, root: Path, bees: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The move and the links are one act."""
    put(root, "bees/wiki/parts/comb.md", "# Comb\n")
    put(root, "bees/wiki/near.md", "[[parts/comb]]\n")
    monkeypatch.setattr(page_rename, "MOST_FILES", 0)
    answer = client.post("/files/move/wikis/bees/wiki/parts/", {"to": "wikis/bees/wiki/things"})
    assert answer.status_code == 422
    assert "Nothing was changed" in answer.content.decode()
    assert (bees / "wiki/parts/comb.md").exists()
    assert (bees / "wiki/near.md").read_text() == "[[parts/comb]]\n"


@pytest.mark.parametrize("name", ["site-roadmap", "Site_Roadmap", "SITE ROADMAP", "Sité Roadmap"])
def test_one_name_is_one_page_for_every_writer(
    client: Client, root: Path, bees: Path, name: str
) -> None:
    """A chat's plain write, a patch, a new file, a copy and a move make no second page of a name;
    the page itself may be renamed to it."""
    put(root, "bees/wiki/Site Roadmap.md", "# Site Roadmap\n")
    path = f"wikis/bees/wiki/{name}.md"
    box = toolbox_for("personal", root, run="test")
    refused = [
        box.call("write_file", {"path": path, "content": "mine"}),
        box.call("apply_patch", {"edits": [{"path": path, "action": "create", "new_text": "x"}]}),
    ]
    assert not any(one.ok for one in refused)
    inside = toolbox_for("project", root, run="test", project="bees")
    refused.append(inside.call("write_file", {"path": f"wiki/{name}.md", "content": "mine"}))
    assert all("Site Roadmap.md”" in one.content for one in refused)
    for act, form in (
        ("files/new/wikis/bees/wiki", {"name": f"{name}.md", "kind": "file"}),
        ("files/copy/wikis/bees/wiki/hive.md", {"to": path}),
        ("files/move/wikis/bees/wiki/hive.md", {"to": path}),
    ):
        answer = client.post(f"/{act}/", form)
        assert answer.status_code == 422, act
        assert "Site Roadmap.md”" in answer.content.decode(), act
    assert not (root / path).exists()
    assert inside.call("write_file", {"path": f"wiki/plans/{name}.md", "content": "x"}).ok
    client.post("/files/move/wikis/bees/wiki/Site Roadmap.md/", {"to": path})
    assert (root / path).exists()
