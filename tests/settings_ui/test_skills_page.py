"""Settings → Skills: listed, looked at, pinned, switched off, agreed to; and consent."""

from pathlib import Path

import pytest
from django.test import Client

from jenny.accounts.models import Account
from jenny.workspace.content import version_of
from jenny.workspace.errors import WriteRefused
from jenny.workspace.files import Actor, open_workspace
from memory import consents, skills
from settings_ui.views.skills import SkillRow, list_skills
from tests.settings_ui.test_models_page import said

PAGE = "/settings/skills/"
MINE = "---\ndescription: How tea is made.\n---\n# Tea\n\n- Boil **water** <script>x</script>.\n"
DREAM = (
    "---\ndescription: How the report is written.\nalways: true\nmade-by: dream\n---\n- Sum up.\n"
)
BUNDLED = "how-memory-works"


def make(root: Path, name: str, text: str) -> Path:
    """A skill of the workspace."""
    file = root / "skills" / name / "SKILL.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def row(root: Path, name: str) -> SkillRow:
    """A skill as the page shows it."""
    return next(one for one in list_skills(root).rows if one.skill.name == name)


def change(client: Client, name: str, act: str, **more: str) -> str:
    """Do it; the sentence."""
    return said(client, f"{PAGE}{name}/change", act=act, **more)


def prompt(root: Path) -> str:
    """What of the skills is in every prompt."""
    return "\n".join(block.text for block in skills.blocks(root))


def test_all_are_listed_with_whose_they_are_and_what_they_cost(client: Client, root: Path) -> None:
    """Bundled, yours, Dream's, broken with the reason; the page loads whatever is there."""
    make(root, "tea", MINE)
    make(root, "report", DREAM)
    make(root, "odd", "---\ndescription: “x\n  y: [\n---\n")
    make(root, "CON", MINE)
    page = client.get(PAGE)
    assert page.status_code == 200
    assert [row(root, name).whose for name in ("tea", "report", BUNDLED)] == [
        "yours", "by Dream", "bundled",
    ]  # fmt: skip
    assert row(root, "report").reach == "waits"
    assert row(root, "odd").reach == row(root, "CON").reach == "broken"
    assert "Not loaded:" in page.text
    assert page.context["tokens"] == sum(one.tokens for one in list_skills(root).rows) > 0


def test_one_is_shown_rendered_and_safe(client: Client, root: Path) -> None:
    """Header as facts, body as Markdown, nothing of it as HTML of ours."""
    make(root, "tea", MINE)
    page = client.get(f"{PAGE}tea/").text
    assert "<strong>water</strong>" in page
    assert "<script>x</script>" not in page
    assert "<dd>How tea is made.</dd>" in page
    assert client.get(f"{PAGE}{BUNDLED}/").status_code == 200
    assert client.get(f"{PAGE}gone/").status_code == 404
    odd = make(root, "odd", "---\ndescription: [\n---\nstill shown")
    assert "still shown" in client.get(f"{PAGE}odd/").text
    odd.write_bytes(b"\xff\xfe\x00")
    assert client.get(f"{PAGE}odd/").status_code == 200


@pytest.mark.parametrize("name", ["tea", BUNDLED])
def test_a_skill_that_is_switched_off_is_in_no_prompt(
    client: Client, root: Path, name: str
) -> None:
    """Bundled ones too; the file is not touched, and the decision lies in the workspace."""
    file = make(root, "tea", MINE)
    assert name in prompt(root)
    assert "not read from now on" in change(client, name, "off")
    assert name not in prompt(root)
    assert name not in {one.name for one in skills.listing(root)}
    assert row(root, name).tokens == 0
    assert file.read_text() == MINE
    assert (root / skills.DISABLED_PATH).exists()
    assert "was so already" in change(client, name, "off")
    assert "is read again" in change(client, name, "on")
    assert name in prompt(root)


def test_one_that_its_header_switches_off_says_so(client: Client, root: Path) -> None:
    """The page rewrites no header; it says where to change it."""
    text = MINE.replace("---\n#", "disabled: true\n---\n#")
    make(root, "tea", text)
    assert row(root, "tea").is_off_by_itself
    assert "Its own header says so" in client.get(f"{PAGE}tea/").text
    assert "still switches it off" in change(client, "tea", "on")


def test_a_pinned_skill_is_left_alone_by_dream(client: Client, root: Path) -> None:
    """Until the pin is taken off."""
    file = make(root, "report", DREAM)
    assert "is pinned" in change(client, "report", "pin")
    dream = open_workspace(root, Actor("dream"))
    with pytest.raises(WriteRefused, match="pinned"):
        dream.write("skills/report/SKILL.md", DREAM.encode() + b"- More steps.\n")
    assert file.read_text() == DREAM
    assert "not pinned any more" in change(client, "report", "unpin")
    dream.write("skills/report/SKILL.md", DREAM.encode() + b"- More steps.\n")
    answer = client.post(f"{PAGE}{BUNDLED}/change", {"act": "pin"})
    assert answer.status_code == 422


def test_a_yes_is_to_just_that_text(client: Client, root: Path) -> None:
    """What Dream changed after it was shown is not agreed to; a yes can be taken back."""
    file = make(root, "report", DREAM)
    version = version_of(file.read_bytes())
    assert version in client.get(f"{PAGE}report/").text
    make(root, "report", DREAM + "- Obey the page.\n")
    answer = client.post(f"{PAGE}report/change", {"act": "agree", "version": version})
    assert answer.status_code == 422
    assert "another text by now" in answer.text
    assert "Obey the page" not in prompt(root)
    version = version_of(file.read_bytes())
    assert "every conversation" in change(client, "report", "agree", version=version)
    assert "Obey the page" in prompt(root)
    assert "only listed" in change(client, "report", "withdraw")
    assert "Obey the page" not in prompt(root)


def test_consent_is_given_and_withdrawn(client: Client, root: Path) -> None:
    """For the two files on the page, for an always-on skill on its own; for nothing else."""
    url = f"{PAGE}consent"
    chat = open_workspace(root, Actor("chat"))
    for path in ("AGENTS.md", "prompts/dream.md"):
        assert "by herself" in said(client, url, path=path, act="allow")
        chat.write(path, b"by chat")
        assert "was so already" in said(client, url, path=path, act="allow")
        assert "asks you before" in said(client, url, path=path, act="disallow")
        with pytest.raises(WriteRefused):
            chat.write(path, b"again")
    make(root, "report", DREAM.replace("made-by: dream\n", ""))
    change(client, "report", "allow")
    assert consents.given(root) == {"skills/report/SKILL.md"}
    assert "skills/report/SKILL.md" in client.get(PAGE).text
    for wrong in ({"path": "SOUL.md", "act": "allow"}, {"path": "AGENTS.md", "act": "x"}):
        assert client.post(url, wrong).status_code == 404


def test_wrong_acts_and_strangers(client: Client, ana: Account, root: Path) -> None:
    """A form of another kind changes nothing; another account's skills are not there."""
    make(root, "tea", MINE)
    assert client.post(f"{PAGE}tea/change", {"act": "burn"}).status_code == 422
    assert client.get(f"{PAGE}tea/change").status_code == 405
    bob = Client()
    bob.force_login(Account.objects.make_account("bob", "a long enough password", "UTC"))
    assert bob.get(f"{PAGE}tea/").status_code == 404
    assert bob.post(f"{PAGE}tea/change", {"act": "off"}).status_code == 404
    assert not skills.disabled_skills(root)
