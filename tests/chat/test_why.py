"""From a line of a memory file back to what was said, in a real instance."""

import json

from memory.history import reader
from tests.model_server import Call, Say
from tests.support.place import COUNTER
from tests.support.stack import OWNER


def test_a_line_and_a_note_lead_to_the_messages(scripted, owner, model_server):
    """What the assistant wrote in a turn names the turn and its messages; a note that it made is
    anchored in the person's message. The texts before and after stay while the conversation is in
    the trash, and go with it for good; that a chat wrote the line is still known."""
    words = f"bicycles number {next(COUNTER)} and more"

    def rule(request):
        return bool(request.json.get("tools")) and any(
            words in text for text in request.texts("user")
        )

    root = scripted.data.workspaces / OWNER
    (root / "USER.md").write_text("# User\n\n- Lives by the lake\n")
    edit = {"path": "USER.md", "old_text": "- Lives", "new_text": f"- Has {words}\n- Lives"}
    model_server.script(
        Call("edit_file", edit), Call("remember", {"text": f"The user has {words}"}), when=rule
    )
    model_server.script(Say("Done."), when=rule)
    chat = owner.begin(f"I have {words}")
    owner.answer(chat)
    told = json.loads(scripted.manage("why", "--workspace", OWNER, "USER.md:3", "--json"))
    assert told["text"] == f"Has {words}"
    assert told["writes"][0]["actor"] == "chat"
    (speech,) = told["messages"]
    assert speech["conversation"] == chat
    assert [row["who"] for row in speech["said"]] == ["user", "answer"]
    assert speech["said"][0]["excerpt"] == f"I have {words}"
    assert owner.get(speech["said"][0]["url"]).status_code in {200, 302}
    (note,) = [row for row in reader.read_pending(root).entries if words in row.content]
    user = speech["said"][0]["id"]
    assert (note.conversation, note.messages) == (chat, (user, user))
    kept = "from memory.models import *; print(TurnChange.objects.filter(path='USER.md').count())"
    before = int(scripted.manage("shell", "-v0", "-c", kept))
    assert owner.post(f"/chat/{chat}/delete").status_code in {200, 302}
    assert int(scripted.manage("shell", "-v0", "-c", kept)) == before
    deleted = owner.post("/chat/trash/act", act=f"delete:{chat}")
    assert deleted.status_code in {200, 302}
    assert int(scripted.manage("shell", "-v0", "-c", kept)) == before - 1
    told = json.loads(scripted.manage("why", "--workspace", OWNER, "USER.md:3", "--json"))
    assert told["writes"][0]["actor"] == "chat"
    assert told["messages"] == []
