"""What the assistant may not change by itself: asked for in the chat, decided by the person."""

import re
from pathlib import Path

import pytest

from jenny.workspace.errors import WriteRefused
from jenny.workspace.files import Actor, open_workspace
from memory import consents
from tests.model_server import Call
from tests.support.client import text_of
from tests.support.place import Place, answers

RULE = "# Rules\n\n- Answer in verse.\n"
SKILL = "---\ndescription: How tea is made.\nalways: true\n---\n- Boil the water well.\n"


def ask(place: Place, words: str, *calls: Call) -> str:
    """A conversation in which the model makes these calls; the thread."""
    for call in calls:
        place.model.script(call, when=lambda request: words in request.texts("user")[0])
    place.model.script("I asked you.", when=lambda request: words in request.texts("user")[0])
    chat = place.owner.begin(words)
    place.owner.answer(chat)
    return chat


def requests(place: Place, chat: str) -> list[str]:
    """The addresses of what is asked for in the thread, oldest first."""
    found = re.findall(rf'href="(/chat/{chat}/asks/\d+)"', place.owner.thread(chat))
    return list(dict.fromkeys(found))


@pytest.fixture(autouse=True)
def plain(place: Place) -> None:
    """Nothing was consented to, and AGENTS.md is as it was."""
    (place.root / "AGENTS.md").write_text("# Rules\n")
    for path in consents.given(place.root):
        consents.withdraw(place.root, path, Actor("browser"))


def write(path: str, text: str) -> Call:
    """The model replaces or makes a file."""
    return Call("write_file", {"path": path, "content": text})


def edit(new: str) -> Call:
    """The model changes AGENTS.md."""
    old = "# Rules\n"
    return Call("edit_file", {"path": "AGENTS.md", "old_text": old, "new_text": new})


def test_a_change_waits_in_the_chat_and_is_made_when_allowed(place: Place, words: str) -> None:
    """Nothing is written before; the request shows what would change; a yes writes just that."""
    chat = ask(place, words, edit(RULE))
    agents = place.root / "AGENTS.md"
    assert agents.read_text() == "# Rules\n"
    assert "Jenny asks to change AGENTS.md" in text_of(place.owner.thread(chat))
    (url,) = requests(place, chat)
    assert "Answer in verse." in place.owner.get(url).text
    assert place.owner.post(url, answer="maybe").status_code == 422
    assert place.owner.post(url, answer="allow").status_code == 302
    assert agents.read_text() == RULE
    assert "Allowed: change of AGENTS.md" in text_of(place.owner.thread(chat))
    assert "allowed already" in place.owner.post(url, answer="no").text
    assert not consents.given(place.root)


def test_a_no_leaves_the_file_and_a_later_wish_takes_the_place_of_an_earlier(
    place: Place, words: str
) -> None:
    """Only the newest proposal for a file can be allowed."""
    chat = ask(place, words, edit("# Rules\n\n- One.\n"), edit("# Rules\n\n- Two.\n"))
    first, second = requests(place, chat)
    assert "superseded already" in place.owner.post(first, answer="allow").text
    assert place.owner.post(second, answer="no").status_code == 302
    assert (place.root / "AGENTS.md").read_text() == "# Rules\n"
    assert "You declined this change" in place.owner.get(second).text


def test_what_was_changed_meanwhile_is_not_overwritten(place: Place, words: str) -> None:
    """The person's own edit stands; the request still waits, and says so."""
    chat = ask(place, words, edit(RULE))
    (place.root / "AGENTS.md").write_text("# Mine\n")
    (url,) = requests(place, chat)
    answer = place.owner.post(url, answer="allow")
    assert answer.status_code == 422
    assert "was changed since Jenny asked" in answer.text
    assert (place.root / "AGENTS.md").read_text() == "# Mine\n"


def test_a_yes_that_was_cut_short_is_made_up_for(place: Place, words: str) -> None:
    """Written and not noted, as after a kill in between: the next yes finds it done."""
    chat = ask(place, words, edit(RULE))
    (place.root / "AGENTS.md").write_text(RULE)
    (url,) = requests(place, chat)
    assert place.owner.post(url, answer="allow").status_code == 302
    assert "You allowed this change" in place.owner.get(url).text


def test_a_standing_consent_is_given_and_withdrawn(place: Place, words: str) -> None:
    """From then on that file alone is changed without asking, until it is taken back."""
    chat = ask(place, words, edit(RULE))
    place.owner.post(requests(place, chat)[0], answer="always")
    assert consents.given(place.root) == {"AGENTS.md"}
    more = words + " again"
    chat = ask(place, more, edit("# Rules\n\n- More.\n"), write("prompts/dream.md", "Be brief."))
    assert "- More." in (place.root / "AGENTS.md").read_text()
    assert not (place.root / "prompts" / "dream.md").exists()
    assert "asks to change prompts/dream.md" in text_of(place.owner.thread(chat))
    consents.withdraw(place.root, "AGENTS.md", Actor("browser"))
    chat = ask(place, words + " once more", edit("# Rules\n\n- Even more.\n"))
    assert "- Even more." not in (place.root / "AGENTS.md").read_text()
    assert len(requests(place, chat)) == 1


def test_an_always_on_skill_takes_consent_too(place: Place, words: str) -> None:
    """It is made as proposed, and none of it counts as forgotten by the person."""
    path = "skills/tea/SKILL.md"
    chat = ask(place, words, write(path, SKILL))
    assert not (place.root / path).exists()
    place.owner.post(requests(place, chat)[0], answer="allow")
    assert (place.root / path).read_text() == SKILL


def test_somebody_elses_request_is_not_there(place: Place, words: str) -> None:
    """Neither a wrong conversation's nor a number that is none."""
    chat = ask(place, words, edit(RULE))
    (url,) = requests(place, chat)
    number = url.rsplit("/", 1)[-1]
    place.model.script("Hello.", when=answers(words + " other"))
    other = place.owner.begin(words + " other")
    place.owner.answer(other)
    assert place.owner.get(f"/chat/{other}/asks/{number}").status_code == 404
    assert place.owner.get(f"/chat/{chat}/asks/999999").status_code == 404


def test_only_the_chat_may_pass_with_a_consent(tmp_path: Path) -> None:
    """Dream, temporary chats and strangers are refused as before."""
    consents.give(tmp_path, "AGENTS.md", Actor("browser"))
    open_workspace(tmp_path, Actor("chat")).write("AGENTS.md", b"by chat")
    for kind in ("dream", "review", "temporary", "stranger"):
        with pytest.raises(WriteRefused):
            open_workspace(tmp_path, Actor(kind, run="consent:1")).write("AGENTS.md", b"x")
    with pytest.raises(WriteRefused):
        consents.give(tmp_path, "USER.md", Actor("browser"))
    with pytest.raises(WriteRefused):
        open_workspace(tmp_path, Actor("chat")).write(consents.PATH, b"{}")


@pytest.mark.parametrize(
    "line",
    ["My wifi password is Blau-Fisch-77.", "Das Passwort für das NAS lautet Kirsch!Baum9."],
)
def test_a_password_comes_into_a_memory_file_only_with_a_yes(
    place: Place, words: str, line: str
) -> None:
    """The assistant's write waits in the page, which says why and offers no standing consent; what
    has no secret is written at once."""
    text = f"# User\n\n- {line}\n"
    user = place.root / "USER.md"
    user.write_text("# User\n")
    wanted = {"path": "USER.md", "old_text": "# User\n", "new_text": text}
    chat = ask(place, words, Call("edit_file", wanted))
    assert line not in user.read_text()
    (url,) = requests(place, chat)
    page = place.owner.get(url).text
    assert "looks like a password or a key" in page
    assert "do not ask for this file again" not in page
    assert place.owner.post(url, answer="allow").status_code == 302
    assert user.read_text() == text
    more = {"path": "USER.md", "old_text": "# User\n", "new_text": "# User\n\n- Likes figs.\n"}
    chat = ask(place, f"{words} more", Call("edit_file", more))
    assert not requests(place, chat)
    assert "Likes figs." in user.read_text()
    user.write_text("# User\n")
