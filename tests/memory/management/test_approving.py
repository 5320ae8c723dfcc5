"""What waits for a person: staged by runs over real files, git, Valkey and a scripted model; and
each verdict on it."""

import errno
import json
import os

import pytest

from jenny.accounts.models import Workspace
from jenny.workspace.errors import WriteFailed
from jenny.workspace.files import Actor, open_workspace
from jenny.workspace.versions.history import open_history
from memory import archive, context, forgotten, pins
from memory.approval import overlay
from memory.backup.fields import KINDS, TABLE
from memory.management import approving, carrying, restoring, snapshots
from memory.models import DreamEntry, StagedHunk
from tests.model_server import Call
from tests.support.dreams import MEMORY, add, finish, results

START = "# Memory\n\n## Notes\n\n- The bees are fed on Mondays.\n- The shed is painted red.\n"


@pytest.fixture
def owner(dreams):
    """Who decides."""
    return dreams.workspace.owner


@pytest.fixture
def waits(dreams):
    """Everything waits; the file says something already."""
    dreams.set(approve="all")
    (dreams.root / MEMORY).write_text(START)
    return dreams


def edit(old, new, *sources, path=MEMORY):
    """A call that replaces a text."""
    arguments = {"path": path, "old_text": old, "new_text": new, "sources": list(sources)}
    return Call("edit_file", arguments)


def dream(dreams, *calls, said="- [durable] Something new was said."):
    """A run that makes these calls (made of its entry's number), and accounts for the entry."""
    (one,) = dreams.say(said)
    for call in calls:
        dreams.model.script(call(one))
    dreams.model.script(finish(saved=[one]))
    dreams.model.script("Done.")
    return one, dreams.run()


def system_of(dreams):
    """What the newest run was told before its batch."""
    return "\n".join(block["text"] for block in dreams.shown()[-1].json["system"])


def prompt_of(dreams):
    """What a chat is shown of MEMORY.md."""
    block = context.block("memory", dreams.root)
    return block.text if block else ""


def test_nothing_lands_and_the_place_moves(waits, owner):
    """Everything waits: no file changes, no version is made, Dream's place moves on, and the run
    says so; the entry is told as waiting, and the chat is shown the line, marked."""
    one, run = dream(waits, lambda n: add("- The hives stand in the orchard.", n))
    assert run.status == "waiting", run.sentence
    assert "waiting for approval" in run.sentence
    assert waits.text() == START
    assert waits.cursor == one
    assert not run.commits
    assert [(row["cursor"], row["verdict"]) for row in run.entries] == [(one, "waiting")]
    (hunk,) = approving.waiting(waits.workspace)
    assert (hunk.kind, hunk.path, hunk.state) == ("add", MEMORY, "waiting")
    assert (hunk.after, hunk.sources, hunk.run_id) == (
        "- The hives stand in the orchard.",
        (one,),
        run.pk,
    )
    shown = prompt_of(waits)
    assert "- The hives stand in the orchard. ⟨waiting for the user's approval⟩" in shown
    assert "- The bees are fed on Mondays.\n" in shown
    assert waits.counters.stuck_runs == 0

    done = approving.accept(waits.workspace, hunk.id, account=owner)
    assert done.ok, done.sentence
    assert waits.text() == START + "- The hives stand in the orchard.\n"
    assert "⟨" not in prompt_of(waits)
    assert not approving.waiting(waits.workspace)
    run.refresh_from_db()
    with open_history(waits.root) as versions:
        version = versions.resolve(run.commits[-1])
        assert version.subject == "dream: approved changes"
        assert (version.actor, version.runs) == ("dream", (run.name,))
        assert MEMORY in {row.path for row in versions.changes(version)}
    again = approving.accept(waits.workspace, hunk.id, account=owner)
    assert again.ok
    assert "already" in again.sentence
    assert waits.text().count("orchard") == 1


def test_the_next_run_goes_on_from_what_waits(waits, owner):
    """The next run is shown what waits as if it stood there, edits on top of it, and the same is
    not proposed twice."""
    first, _ = dream(waits, lambda n: add("- The hives stand in the orchard.", n))
    (hunk,) = approving.waiting(waits.workspace)
    second, run = dream(
        waits,
        lambda n: add("- The hives stand in the orchard.", n),
        lambda n: edit("in the orchard", "in the north orchard since 2026", n),
    )
    system = system_of(waits)
    assert "- The hives stand in the orchard.\n" in system
    assert "⟨" not in system
    assert "## What waits for the person's approval" in system
    assert "says it already" in results(waits.model.requests[-2])
    (now,) = approving.waiting(waits.workspace)
    assert now.after == "- The hives stand in the north orchard since 2026."
    assert now.sources == (first, second)
    assert now.run_id == run.pk
    assert approving.find(waits.workspace, hunk.id).state == "superseded"
    late = approving.accept(waits.workspace, hunk.id, account=owner)
    assert not late.ok
    assert "replaced by a later run" in late.sentence
    assert waits.text() == START


def test_additions_land_and_removals_wait(dreams, owner):
    """``removals``: what is added stands at once; what is taken out or reworded waits, and is shown
    with what stands until then."""
    dreams.set(approve="removals")
    (dreams.root / MEMORY).write_text(START)
    _, run = dream(
        dreams,
        lambda n: add("- The hives stand in the orchard.", n),
        lambda n: edit("painted red", "painted green", n),
        lambda n: edit("- The bees are fed on Mondays.\n", "", n),
    )
    assert run.status == "waiting", run.sentence
    assert dreams.text() == START + "- The hives stand in the orchard.\n"
    assert run.commits
    gone, reworded = approving.waiting(dreams.workspace)
    assert (gone.kind, gone.before) == ("remove", "- The bees are fed on Mondays.")
    assert (reworded.kind, reworded.after) == ("change", "- The shed is painted green.")
    shown = prompt_of(dreams)
    assert "- The bees are fed on Mondays. ⟨to be taken out; waiting" in shown
    assert "- The shed is painted green. ⟨instead of “- The shed is painted red.”; waiting" in shown
    assert not archive.count(dreams.root)

    assert approving.accept(dreams.workspace, gone.id, account=owner).ok
    assert approving.accept(dreams.workspace, reworded.id, account=owner).ok
    assert dreams.text() == (
        "# Memory\n\n## Notes\n\n- The shed is painted green.\n- The hives stand in the orchard.\n"
    )
    (kept,) = [row for row in archive.listing(dreams.root) if "bees" in row.text]
    assert kept.events[-1].run == run.name
    run.refresh_from_db()
    assert kept.id in run.archived


def test_a_change_of_place_is_a_conflict(waits, owner):
    """Somebody rewords the line meanwhile: both texts are shown, nothing is written unless the
    person writes what is to stand there, and not if that changed once more."""
    _, run = dream(waits, lambda n: edit("painted red", "painted green", n))
    del run
    other = START.replace("- The shed is painted red.", "- The shed is painted red and white.")
    open_workspace(waits.root, Actor("chat")).write(MEMORY, other.encode())
    (hunk,) = approving.waiting(waits.workspace)
    assert hunk.state == "conflict"
    assert hunk.before == "- The shed is painted red."
    assert hunk.after == "- The shed is painted green."
    assert hunk.now == "- The shed is painted red and white."
    assert "The shed is painted green." in prompt_of(waits)
    refused = approving.accept(waits.workspace, hunk.id, account=owner)
    assert not refused.ok
    assert "changed meanwhile" in refused.sentence
    assert waits.text() == other
    words = "- The shed is painted green and white."
    stale = approving.accept(
        waits.workspace, hunk.id, account=owner, text=words, seen="- Something else."
    )
    assert not stale.ok
    assert waits.text() == other
    done = approving.accept(waits.workspace, hunk.id, account=owner, text=words, seen=hunk.now)
    assert done.ok, done.sentence
    assert waits.text() == other.replace("red and white", "green and white")
    assert approving.find(waits.workspace, hunk.id).text == words


def test_a_rejected_wording_is_not_proposed_again(waits, owner):
    """The wording is refused to Dream from now on, and the entry it was made from is offered again,
    since its fact is in no file."""
    one, _ = dream(waits, lambda n: add("- The hives stand in the orchard.", n))
    (hunk,) = approving.waiting(waits.workspace)
    done = approving.reject(waits.workspace, hunk.id, account=owner)
    assert done.ok
    assert done.offered == (one,)
    assert f"entry {one}" in done.sentence
    entry = DreamEntry.objects.get(cursor=one)
    assert entry.place == DreamEntry.Place.REOFFERED
    assert waits.text() == START
    assert approving.reject(waits.workspace, hunk.id, account=owner).offered == (one,)
    assert not approving.accept(waits.workspace, hunk.id, account=owner).ok

    waits.model.script(add("- The hives stand in the  orchard!", one))
    waits.model.script(add("- Hives: at the orchard's north end.", one))
    waits.model.script(finish(saved=[one]))
    waits.model.script("Done.")
    run = waits.run()
    assert "rejected this wording" in results(waits.model.requests[-3])
    assert "## Rejected wordings" in system_of(waits)
    assert run.status == "waiting", run.sentence
    assert [row.after for row in approving.waiting(waits.workspace)] == [
        "- Hives: at the orchard's north end."
    ]
    assert not DreamEntry.objects.exists()


def test_what_a_person_keeps_is_not_asked_about_again(waits, owner):
    """A removal that was rejected: the line stays, no entry comes back, and Dream is refused to
    take it out."""
    line = "- The bees are fed on Mondays.\n"
    _, _ = dream(waits, lambda n: edit(line, "", n))
    (hunk,) = approving.waiting(waits.workspace)
    done = approving.reject(waits.workspace, hunk.id, account=owner)
    assert done.ok
    assert not done.offered
    dream(waits, lambda n: edit(line, "", n))
    assert "wants to keep it" in results(waits.model.requests[-2])
    assert not approving.waiting(waits.workspace)


def test_never_store_this(waits, owner):
    """What would have come is forgotten: Dream is refused it, it can be lifted, and a line that
    stands in the same place is not hidden with it."""
    dream(waits, lambda n: add("- Anna is allergic to nuts.", n))
    (hunk,) = approving.waiting(waits.workspace)
    done = approving.never(waits.workspace, hunk.id, account=owner)
    assert done.ok, done.sentence
    assert [row.text for row in forgotten.tombstones(waits.root)] == ["Anna is allergic to nuts."]
    assert approving.never(waits.workspace, hunk.id, account=owner).ok
    assert len(forgotten.tombstones(waits.root)) == 1
    assert "nuts" not in prompt_of(waits)

    dream(waits, lambda n: edit("- The shed is painted red.\n", "- The shed is painted  RED.\n", n))
    (same,) = approving.waiting(waits.workspace)
    refused = approving.never(waits.workspace, same.id, account=owner)
    assert not refused.ok
    assert len(forgotten.tombstones(waits.root)) == 1


def test_never_of_a_removal_forgets_the_line(waits, owner):
    """The line goes and is forgotten, a copy lies in the archive."""
    dream(waits, lambda n: edit("- The bees are fed on Mondays.\n", "", n))
    (hunk,) = approving.waiting(waits.workspace)
    assert approving.never(waits.workspace, hunk.id, account=owner).ok
    assert "bees" not in waits.text()
    assert [row.text for row in forgotten.tombstones(waits.root)] == [
        "The bees are fed on Mondays."
    ]
    assert archive.count(waits.root) == 1


def test_the_rules_hold_for_what_is_accepted(waits, owner):
    """Pins, budgets, what is forgotten, secrets: a hunk passes the same funnel; what is refused
    goes on waiting."""
    dream(
        waits,
        lambda n: edit("painted red", "painted green", n),
        lambda n: add("- The hives stand in the orchard.", n),
    )
    reworded, added = approving.waiting(waits.workspace)
    pins.pin(waits.root, MEMORY, 6, Actor("browser"))
    refused = approving.accept(waits.workspace, reworded.id, account=owner)
    assert not refused.ok
    assert "pinned" in refused.sentence
    forgotten.forget(waits.root, "The hives stand in the orchard.", Actor("browser"))
    assert "orchard" not in prompt_of(waits)
    refused = approving.accept(waits.workspace, added.id, account=owner)
    assert not refused.ok
    assert "forgotten" in refused.sentence
    key = "- The key is sk-ant-api03-" + "a1B2" * 24
    refused = approving.accept(waits.workspace, added.id, account=owner, text=key)
    assert not refused.ok
    assert "secret" in refused.sentence
    waits.set(memoryBudgetChars=60)
    refused = approving.accept(waits.workspace, added.id, account=owner, text="- Hives: two.")
    assert not refused.ok
    assert "budget" in refused.sentence
    assert waits.text() == START
    assert len(approving.waiting(waits.workspace)) == 2


def test_a_move_is_decided_as_one(waits, owner):
    """What moves from file to file is accepted in both, destination first, or in none."""
    move = {
        "path": MEMORY,
        "entry": "The bees are fed on Mondays.",
        "to": "USER.md",
        "heading": "Habits",
    }
    dream(waits, lambda n: Call("move_entry", move | {"sources": [n]}))
    gone, came = sorted(approving.waiting(waits.workspace), key=lambda row: row.kind == "add")
    assert gone.together_with == (came.id,)
    assert approving.accept(waits.workspace, gone.id, account=owner).ok
    assert "bees" not in waits.text()
    assert "- The bees are fed on Mondays." in waits.text("USER.md")
    assert not archive.count(waits.root)
    assert not approving.waiting(waits.workspace)


def test_a_restore_voids_what_waits(waits):
    """Nothing waits any more, and what was behind it is offered to Dream again."""
    one, _ = dream(waits, lambda n: add("- The hives stand in the orchard.", n))
    assert approving.void(waits.workspace) == (1, (one,))
    assert not approving.waiting(waits.workspace)
    assert "orchard" not in prompt_of(waits)
    assert DreamEntry.objects.get(cursor=one).place == DreamEntry.Place.REOFFERED
    assert approving.void(waits.workspace) == (0, ())


def test_a_restore_that_finds_no_room_leaves_all_waiting(waits, monkeypatch):
    """The disk refuses in the middle of the swap: no file is another one, so what waits still
    does, nothing more is offered to Dream, and a restore that has room voids it."""
    shot = snapshots.take(waits.workspace, "manual").snapshot.id
    one, _ = dream(waits, lambda n: add("- The hives stand in the orchard.", n))
    (waits.root / MEMORY).write_text(f"{START}- By hand.\n")

    link = os.link

    def full(name, new, **options):
        if str(new).isdecimal():  # what the swap keeps of a file under its number
            raise OSError(errno.ENOSPC, "No space left on device")
        link(name, new, **options)

    def restore():
        return restoring.by_command(waits.workspace, shot, "", progress=lambda *_: None)

    with monkeypatch.context() as patched:
        patched.setattr(os, "link", full)
        with pytest.raises(WriteFailed, match="None of them was changed"):
            restore()
    assert [row.sources for row in approving.waiting(waits.workspace)] == [(one,)]
    assert "orchard" in prompt_of(waits)
    assert not DreamEntry.objects.exists()
    assert restore().voided == 1
    assert not approving.waiting(waits.workspace)
    assert DreamEntry.objects.get().cursor == one


def test_an_import_voids_what_waits(waits):
    """What waited was about files that the import has replaced; its entries are offered again."""
    one, _ = dream(waits, lambda n: add("- The hives stand in the orchard.", n))
    carrying.merge(waits.workspace, [], turns={}, has_same_entries=True)
    assert not approving.waiting(waits.workspace)
    assert DreamEntry.objects.get(cursor=one).place == DreamEntry.Place.REOFFERED


def test_what_was_rejected_is_known_where_a_backup_comes_to(waits, owner):
    """Dream there is told of it as here, also after a second import; what is damaged is left."""
    dream(waits, lambda n: add("- The hives stand in the orchard.", n))
    (hunk,) = approving.waiting(waits.workspace)
    assert approving.reject(waits.workspace, hunk.id, account=owner).ok
    there = Workspace.make(owner, "there")
    there.make_folder()
    rows = [
        (kind, row)
        for kind, name in KINDS.items()
        for row in carrying.tables(waits.workspace)[name]
    ]
    (rejected,) = [row for kind, row in rows if kind == "hunk"]
    rows += [("hunk", rejected | {"piece": piece}) for piece in ({}, {"kind": "add", "after": 3})]
    for _ in range(2):
        read = [(kind, TABLE.read(json.loads(json.dumps(row)))[1]) for kind, row in rows]
        carrying.merge(there, read, turns={}, has_same_entries=False)
        (row,) = StagedHunk.objects.filter(workspace=there)
        assert (row.state, row.sources) == ("rejected", [])
    unwanted = overlay.unwanted(there.root)
    assert unwanted.rejected == overlay.unwanted(waits.root).rejected
    assert "The hives stand in the orchard." in unwanted.rejected


def test_another_account_sees_and_decides_nothing(waits, owner):
    """A hunk's number is nothing to who is not its workspace's owner."""
    from jenny.accounts import access
    from jenny.accounts.models import Account

    dream(waits, lambda n: add("- The hives stand in the orchard.", n))
    (hunk,) = approving.waiting(waits.workspace)
    other = access.made_workspace(Account.objects.create_user("stranger", "another good password"))
    assert not approving.waiting(other)
    for verdict in (approving.accept, approving.reject, approving.never):
        assert not verdict(other, hunk.id, account=other.owner).ok
    assert StagedHunk.objects.get(pk=hunk.id).state == "waiting"
