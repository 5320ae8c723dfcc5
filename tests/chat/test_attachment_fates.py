"""What becomes of files: in other versions, branches, backups, summaries, and when a conversation
is deleted."""

import hashlib
import json
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import IntegrityError, connection, transaction

from jenny.accounts.models import Account, Workspace
from jenny.agent.messages import Image
from jenny.chat import backup
from jenny.chat.models import Attachment, Conversation, FileToDelete, Message, Turn
from jenny.chat.services import (
    attachment_pictures,
    attachments,
    branches,
    context_window,
    conversation_backup,
    conversation_documents,
    deletion,
    model_context,
    send_message,
    shared_messages,
)
from jenny.chat.services.model_context import load_history
from jenny.documents import reader
from jenny.workspace import trash
from jenny.workspace.errors import BackupRefused, WorkspaceError
from memory.history.transcript import formatted
from tests.support import files

SECRET = "the code is 4711"


@pytest.fixture
def owner(transactional_db: None, valkey: Any) -> Account:
    """Somebody with a workspace."""
    person = Account.objects.make_owner("ana", "correct horse battery staple", "UTC")
    person.current_workspace.make_folder()
    return person


def taken(owner: Account, chat: Conversation, name: str, data: bytes) -> Attachment:
    """A file that waits to be sent."""
    form = {"id": uuid.uuid4().hex, "name": name, "at": "0", "size": str(len(data))}
    found = attachments.receive_part(owner, chat.workspace, chat, form, data)
    assert isinstance(found, Attachment)
    return found


def said(owner: Account, name: str, data: bytes, kind: str = "personal") -> Message:
    """A message with one file, in a conversation of its own."""
    chat = Conversation.objects.create(workspace=owner.current_workspace, kind=kind)
    rows = [taken(owner, chat, name, data)]
    return send_message.accept_message(chat, "Look", files=rows, start=lambda _: None).message


def place_of(message: Message) -> Path:
    """Where the file of a message is."""
    return message.conversation.workspace.root / message.attachments.get().path


def sent(owner: Account, text: str = "Look", kind: str = "personal", **more: Any) -> Message:
    """A message with a picture and a text that a turn took."""
    chat = Conversation.objects.create(workspace=owner.current_workspace, kind=kind, **more)
    rows = [
        taken(owner, chat, "photo.png", files.picture("png")),
        taken(owner, chat, "note.txt", SECRET.encode()),
    ]
    message = send_message.accept_message(chat, text, files=rows, start=lambda _: None).message
    Turn.objects.filter(conversation=chat).update(state="done")
    message.turn = Turn.objects.get(conversation=chat)
    message.save(update_fields=["turn"])
    return message


def pictures(chat: Conversation) -> list[Image]:
    """The pictures of the requests of *chat*."""
    rows = model_context.messages(load_history(Conversation.objects.get(pk=chat.pk)))
    return [part for row in rows for part in row.parts if isinstance(part, Image)]


def test_other_versions_have_the_same_files(owner: Account) -> None:
    """An edited message, and one that is answered again, have the files of before."""
    message = sent(owner)
    chat = message.conversation
    branches.edit_message(chat, message.pk, "Look here", start=lambda _: None)
    new = chat.messages.get(is_current=True, kind="user")
    assert new.text == "Look here"
    assert [row.path for row in new.attachments.all()] == [
        row.path for row in message.attachments.all()
    ]
    assert [row.form for row in new.attachments.all()] == ["picture", "text"]
    assert len(list((chat.workspace.root / "uploads").rglob("*.*"))) == 2


def test_a_file_that_found_no_reader_is_read_when_it_is_sent(
    owner: Account, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """That others were being read is no fault of the file; still none, it goes by its path."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(reader, "_WAIT_SECONDS", 0)
    chat = Conversation.objects.create(workspace=owner.current_workspace)
    with reader._reader_slot(), reader._reader_slot():
        late = taken(owner, chat, "note.txt", b"The code is 4711.")
        assert reader.BUSY in late.problem
        busy = Conversation.objects.create(workspace=owner.current_workspace)
        rows = [taken(owner, busy, "note.txt", b"Another code.")]
        message = send_message.accept_message(
            busy, "Look", files=rows, start=lambda _: None
        ).message
        assert message.attachments.get().form == "path"
    message = send_message.accept_message(chat, "Look", files=[late], start=lambda _: None).message
    row = message.attachments.get()
    assert (row.form, row.problem, row.label) == ("text", "", "Text")
    assert "4711" in row.text


def test_a_branch_has_the_files_too(owner: Account) -> None:
    """Its pictures are made again from the files."""
    message = sent(owner)
    new = branches.branch_off(message.conversation, message.pk)
    copied = new.messages.get(kind="user")
    assert [row.name for row in copied.attachments.all()] == ["photo.png", "note.txt"]
    attachment_pictures.make_missing_pictures(new)
    assert [one.data for one in pictures(new)] == [
        one.data for one in pictures(message.conversation)
    ]


def test_a_backup_has_what_was_sent(owner: Account) -> None:
    """Names, paths and texts travel with the messages, the files with the workspace."""
    message = sent(owner)
    workspace = owner.current_workspace
    lines = [json.loads(json.dumps(row)) for row in conversation_backup.export_rows(workspace)]
    other = Workspace.make(owner, "other")
    other.make_folder()
    for row in message.attachments.all():
        place = other.root / row.path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes((workspace.root / row.path).read_bytes())
    conversation_backup.merge(other, backup.talks(lines))
    chat = Conversation.objects.get(workspace=other)
    found = chat.messages.get(kind="user").attachments.order_by("pk")
    assert [row.path for row in found] == [row.path for row in message.attachments.order_by("pk")]
    assert found[1].text == message.attachments.order_by("pk")[1].text
    assert attachment_pictures.thumbnail_of(found[0])
    assert len(pictures(chat)) == 1


def test_a_backup_from_before_has_none(owner: Account) -> None:
    """Messages of older backups came without attachments."""
    sent(owner)
    rows = conversation_backup.export_rows(owner.current_workspace)
    lines = [json.loads(json.dumps(row)) for row in rows]
    for line in lines:
        line.pop("attachments", None)
    (talk,) = backup.talks(lines)
    assert all(row["attachments"] == [] for row in talk.messages)


def test_a_summary_gets_names_and_types(owner: Account) -> None:
    """What was said, and which files came with it: nothing of what is in them."""
    spoken = context_window.spoken(sent(owner, "Here is my boiler"))
    assert spoken is not None
    text = formatted(spoken)
    assert "Here is my boiler" in text
    assert "(attachment: photo.png (PNG picture))" in text
    assert "(attachment: note.txt (Text))" in text
    assert SECRET not in text


def test_an_export_names_the_files(owner: Account) -> None:
    """As Markdown, HTML and JSON; also of a message without words."""
    message = sent(owner, "")
    path = message.attachments.order_by("pk")[1].path
    for ending in conversation_documents.FORMATS:
        assert path in conversation_documents.document(message.conversation, ending).decode()


def test_files_stay_when_a_conversation_is_deleted(owner: Account) -> None:
    """They are the person's; on request they go to the trash, but for those that another
    conversation has."""
    first, second = sent(owner), sent(owner)
    root = owner.current_workspace.root
    places = [root / row.path for row in first.attachments.all()]
    deletion.delete_conversation(first.conversation)
    assert all(place.exists() for place in places)
    extra = taken(owner, second.conversation, "more.txt", b"more")
    message = send_message.accept_message(
        second.conversation, "And", files=[extra], start=lambda _: None
    ).message
    own = root / message.attachments.get().path
    deletion.delete_conversation(second.conversation, with_files=True)
    assert not own.exists()
    assert all(place.exists() for place in places)
    store = settings.JENNY_DATA.trash / str(owner.current_workspace.pk)
    assert [row.path for row in trash.listing(store)] == [own.relative_to(root).as_posix()]


def test_a_temporary_chat_takes_its_files_along(owner: Account) -> None:
    """When it is deleted, they are deleted for good; once it is kept, they are as any others."""
    gone = sent(owner, kind="temporary")
    root = owner.current_workspace.root
    places = [root / row.path for row in gone.attachments.all()]
    assert all(place.exists() for place in places)
    deletion.delete_conversation(gone.conversation)
    assert not any(place.exists() for place in places)
    assert not Attachment.objects.exists()
    kept = sent(owner, kind="temporary")
    shared_messages.keep_chat(kept.conversation)
    kept.conversation.refresh_from_db()
    deletion.delete_conversation(kept.conversation)
    assert all(place.exists() for place in places)


def test_a_project_keeps_its_files_to_itself(owner: Account) -> None:
    """They are in its folder, and the model is told paths from there."""
    root = owner.current_workspace.root
    (root / "wikis/garden/wiki").mkdir(parents=True)
    message = sent(owner, kind="project", project="garden")
    row = message.attachments.order_by("pk")[1]
    assert row.path.startswith("wikis/garden/uploads/")
    assert not (root / "uploads").exists()
    rows = model_context.messages(load_history(message.conversation), "wikis/garden")
    texts = [part.text for one in rows for part in one.parts if hasattr(part, "text")]
    assert any('path="uploads/' in text for text in texts)


def test_what_waits_too_long_is_deleted(owner: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that was never sent is taken away with its row, and so is one without a row."""
    from datetime import timedelta

    from jenny.workspace import retention

    chat = Conversation.objects.create(workspace=owner.current_workspace)
    taken(owner, chat, "a.txt", b"x")
    attachments.clear_uploads()
    assert Attachment.objects.count() == 1
    monkeypatch.setattr(retention, "UNSENT_FILE", timedelta(0))
    attachments.clear_uploads()
    assert not Attachment.objects.exists()
    assert not list(settings.JENNY_DATA.uploads.rglob("*.file"))


def test_a_file_that_changed_is_another(owner: Account) -> None:
    """Whoever edited the stored file and attaches the first text again has both."""
    message = sent(owner)
    root = owner.current_workspace.root
    row = message.attachments.order_by("pk")[1]
    (root / row.path).write_text("edited")
    again = sent(owner).attachments.order_by("pk")[1]
    assert again.path != row.path
    assert (root / again.path).read_text() == SECRET
    assert (root / row.path).read_text() == "edited"


def test_a_temporary_chat_leaves_the_files_of_others(owner: Account) -> None:
    """What the person had there, what a deleted conversation left, and what was edited since stays
    when a temporary chat that used it is deleted."""
    root = owner.current_workspace.root
    (root / "uploads").mkdir()
    mine = root / "uploads/mine.txt"
    mine.write_text("mine")
    used = said(owner, "other.txt", b"mine", "temporary")
    assert place_of(used) == mine
    deletion.delete_conversation(used.conversation)
    assert mine.read_text() == "mine"

    first = said(owner, "left.txt", b"left")
    left = place_of(first)
    deletion.delete_conversation(first.conversation)
    deletion.delete_for_good(Conversation.all_objects.filter(pk=first.conversation_id))
    again = said(owner, "left.txt", b"left", "temporary")
    assert place_of(again) == left
    deletion.delete_conversation(again.conversation)
    assert left.read_text() == "left"

    edited = said(owner, "note.txt", b"first", "temporary")
    place = place_of(edited)
    place.write_text("edited")
    deletion.delete_conversation(edited.conversation)
    assert place.read_text() == "edited"


def test_a_lasting_conversation_makes_a_file_lasting(owner: Account) -> None:
    """A file that a temporary chat brought stays once another conversation has used it, or the
    chat's twin was kept; the last of several temporary chats takes it along."""
    chat = said(owner, "a.txt", b"both", "temporary")
    other = said(owner, "a.txt", b"both")
    place = place_of(chat)
    deletion.delete_conversation(other.conversation)
    deletion.delete_for_good(Conversation.all_objects.filter(pk=other.conversation_id))
    deletion.delete_conversation(chat.conversation)
    assert place.exists()

    kept, twin = (said(owner, "b.txt", b"kept", "temporary") for _ in range(2))
    place = place_of(kept)
    shared_messages.keep_chat(twin.conversation)
    twin.conversation.refresh_from_db()
    deletion.delete_conversation(twin.conversation)
    deletion.delete_for_good(Conversation.all_objects.filter(pk=twin.conversation_id))
    deletion.delete_conversation(kept.conversation)
    assert place.exists()

    one, two = (said(owner, "c.txt", b"passing", "temporary") for _ in range(2))
    place = place_of(one)
    deletion.delete_conversation(one.conversation)
    assert place.exists()
    deletion.delete_conversation(two.conversation)
    assert not place.exists()


def test_only_what_was_sent_is_moved_to_the_trash(owner: Account) -> None:
    """Neither a file outside of uploads/ that a row names, nor another one at the place of an
    earlier one."""
    message = said(owner, "note.txt", b"first")
    place = place_of(message)
    place.write_text("another")
    root = owner.current_workspace.root
    about = root / "USER.md"
    about.write_text("first")
    Attachment.objects.create(
        workspace=message.conversation.workspace, conversation=message.conversation,
        message=message, name="note.txt", path="USER.md", kind="text",
        digest=message.attachments.get().digest,
    )  # fmt: skip
    deletion.delete_conversation(message.conversation, with_files=True)
    assert place.read_text() == "another"
    assert about.read_text() == "first"


@pytest.mark.parametrize(
    "path",
    ["USER.md", "config.json", "uploads", "uploads/../USER.md", "/etc/passwd", "wikis/a/wiki/b.md"],
)
def test_a_backup_names_files_of_messages_only(owner: Account, path: str) -> None:
    """A path of an attachment in a foreign backup is below uploads/ of the workspace or a project,
    or the backup is refused; what was stored elsewhere by a link travels without its path."""
    message = said(owner, "note.txt", b"first")
    rows = conversation_backup.export_rows(owner.current_workspace)
    lines = [json.loads(json.dumps(row)) for row in rows]
    for line in lines:
        for row in line.get("attachments", []):
            row["path"] = path
    with pytest.raises(BackupRefused, match="impossible attachments"):
        list(backup.talks(lines))
    message.attachments.update(path=path)
    rows = conversation_backup.export_rows(owner.current_workspace)
    (talk,) = backup.talks([json.loads(json.dumps(row)) for row in rows])
    assert [row["path"] for one in talk.messages for row in one["attachments"]] == [""]


def test_files_of_a_temporary_chat_are_deleted_later(
    owner: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the process ends right after the chat was deleted, the next round deletes them."""

    def end(*_: Any) -> None:
        raise KeyboardInterrupt

    message = said(owner, "note.txt", b"first", "temporary")
    place = place_of(message)
    with monkeypatch.context() as ended:
        ended.setattr(deletion, "delete_noted_files", end)
        with pytest.raises(KeyboardInterrupt):
            deletion.delete_conversation(message.conversation)
    assert place.exists()
    assert not Attachment.objects.exists()
    attachments.clear_uploads()
    assert not place.exists()
    assert not FileToDelete.objects.exists()


def test_a_file_that_is_removed_or_sent_meanwhile_is_missed(owner: Account) -> None:
    """The message is not stored without it; what was stored of it is gone with the file, and of two
    messages with one file the first has it."""
    chat = Conversation.objects.create(workspace=owner.current_workspace)
    row, other = taken(owner, chat, "a.txt", b"a"), taken(owner, chat, "b.txt", b"b")
    attachments.store(chat, [row])
    attachments.remove(row)
    for words in ("", "Look"):
        with pytest.raises(attachments.AttachmentRefused, match="was removed, or sent"):
            send_message.accept_message(chat, words, files=[row, other], start=lambda _: None)
    assert not chat.messages.exists()
    root = owner.current_workspace.root
    assert not list((root / "uploads").rglob("a*.txt"))

    stale = Attachment.objects.get(pk=other.pk)
    first = send_message.accept_message(chat, "One", files=[other], start=lambda _: None).message
    with pytest.raises(attachments.AttachmentRefused):
        send_message.accept_message(chat, "Two", files=[stale], start=lambda _: None)
    assert [one.text for one in chat.messages.all()] == ["One"]
    assert first.attachments.get().name == "b.txt"


class Gate:
    """Lets a test act while a file is read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_reading, self.may_go_on = threading.Event(), threading.Event()
        self.times = 0
        real = attachments.read_file

        def wait(*given: Any, **more: Any) -> Any:
            self.times += 1
            self.is_reading.set()
            assert self.may_go_on.wait(30)
            return real(*given, **more)

        monkeypatch.setattr(attachments, "read_file", wait)


def test_a_part_that_is_sent_again_while_the_file_is_read(
    owner: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its answer names the one file there is; the file is read once."""
    gate = Gate(monkeypatch)
    chat = Conversation.objects.create(workspace=owner.current_workspace)
    form = {"id": uuid.uuid4().hex, "name": "a.txt", "at": "0", "size": "3"}

    def send() -> Attachment | int:
        try:
            return attachments.receive_part(owner, chat.workspace, chat, form, b"tea")
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(send)
        assert gate.is_reading.wait(30)
        second = pool.submit(send)
        gate.may_go_on.set()
        found = {first.result(), second.result()}
    assert found == {Attachment.objects.get()}
    assert gate.times == 1
    with pytest.raises(IntegrityError), transaction.atomic():
        Attachment.objects.create(
            workspace=chat.workspace, account=owner, upload=form["id"], name="b.txt", kind="text"
        )


def test_an_upload_is_cancelled_while_the_file_is_read(
    owner: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither file nor row stays, and parts that come late are refused."""
    gate = Gate(monkeypatch)
    chat = Conversation.objects.create(workspace=owner.current_workspace)
    form = {"id": uuid.uuid4().hex, "name": "a.txt", "at": "0", "size": "3"}

    def send() -> Attachment | int:
        try:
            return attachments.receive_part(owner, chat.workspace, chat, form, b"tea")
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        sending = pool.submit(send)
        assert gate.is_reading.wait(30)
        attachments.cancel_upload(owner, form["id"])
        gate.may_go_on.set()
        with pytest.raises(WorkspaceError):
            sending.result()
    with pytest.raises(attachments.AttachmentRefused, match="cancelled"):
        send()
    assert not Attachment.objects.exists()
    kept = list(settings.JENNY_DATA.uploads.rglob(f"{form['id']}.*"))
    assert not any(one.read_bytes() for one in kept)


def test_another_picture_at_the_path_is_not_what_was_sent(owner: Account) -> None:
    """A branch whose file was replaced shows no picture, neither to the model nor in the page; with
    the file back, it does."""
    message = sent(owner)
    new = branches.branch_off(message.conversation, message.pk)
    copied = new.messages.get(kind="user").attachments.get(name="photo.png")
    Attachment.objects.filter(pk=copied.pk).update(picture=None, thumbnail=None)
    place = owner.current_workspace.root / copied.path
    before = place.read_bytes()
    # Of the same size in bytes or smaller: the size alone must not tell.
    place.write_bytes(files.picture("png", (8, 8)))
    attachment_pictures.make_missing_pictures(new)
    copied = Attachment.objects.get(pk=copied.pk)
    assert attachment_pictures.thumbnail_of(copied) is None
    assert not pictures(new)
    place.write_bytes(before)
    attachment_pictures.make_missing_pictures(new)
    (shown,) = pictures(new)
    assert (shown.width, shown.height) == (640, 480)


def test_a_picture_that_cannot_be_made_is_tried_once(
    owner: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No reader starts again for it, in no turn and for no page."""
    message = sent(owner)
    row = message.attachments.get(name="photo.png")
    broken = files.picture("png")[:100]
    (owner.current_workspace.root / row.path).write_bytes(broken)
    digest = hashlib.sha256(broken).hexdigest()
    Attachment.objects.filter(pk=row.pk).update(picture=None, thumbnail=None, digest=digest)
    attachment_pictures.make_missing_pictures(message.conversation)
    assert not pictures(message.conversation)
    marks = owner.current_workspace.root / "started"
    program = owner.current_workspace.root / "program"
    program.write_text(f"#!/bin/sh\necho x >> {marks}\n")
    program.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(program))
    attachment_pictures.make_missing_pictures(message.conversation)
    assert attachment_pictures.thumbnail_of(Attachment.objects.get(pk=row.pk)) is None
    assert not marks.exists()
