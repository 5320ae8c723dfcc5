"""Where a line of a memory file comes from: the ledger of origins, and the way back to what was
said."""

import io
import json
import subprocess
import sys
from unittest import mock

import pytest
from django.core.management import call_command
from django.db import DatabaseError

from jenny.workspace.files import Actor, open_workspace
from jenny.workspace.versions import commits
from memory import provenance
from memory.facts import digest
from memory.history import log
from memory.history.entries import NewHistoryEntry
from memory.models import LineOrigin, TurnChange
from memory.services import origins
from memory.services.why import why

pytestmark = pytest.mark.django_db

USER = b"# User\n\n## Home\n\n- Lives in Bern since 2011\n- Has two cats\n"


@pytest.fixture
def root(workspace):
    """A workspace whose person wrote two lines by hand."""
    open_workspace(workspace.root, Actor("browser", account=1)).write("USER.md", USER)
    return workspace.root


def dream(root, path, old, new, *cursors, kind="dream"):
    """An edit by Dream that rests on entries."""
    place = open_workspace(root, Actor(kind, run="dream:7", sources=cursors))
    return place.edit(path, lambda data: (data or b"").replace(old, new))


def test_a_line_leads_to_its_write_and_the_entry_it_rests_on(workspace, root):
    """A line that Dream wrote names the run, and the entry; a cursor that is in no history is
    told as missing and not followed."""
    log.append(root, [NewHistoryEntry("- [durable] The user moved to Basel.", conversation="c")])
    dream(root, "USER.md", b"- Lives in Bern since 2011", b"- Moved to Basel, by the river", 1, 99)
    found = why(workspace, "USER.md", 5)
    newest, oldest, *_ = found.writes
    assert (newest.actor, newest.run, newest.relation) == ("dream", "dream:7", "replaced")
    assert (newest.sources, newest.missing, newest.is_own) == ((1,), (99,), True)
    assert (oldest.actor, oldest.is_own) == ("browser", False)
    (entry,) = found.entries
    assert (entry.cursor, entry.entry.content) == (1, "- [durable] The user moved to Basel.")
    out = io.StringIO()
    call_command("why", "USER.md:5", "--json", stdout=out)
    told = json.loads(out.getvalue())
    assert "Dream (dream:7) wrote it in the place of something else" in told["message"]
    assert told["entries"][0]["cursor"] == 1


def test_origins_go_with_a_line_into_another_file_and_through_rewording(workspace, root):
    """A line that is moved to another file and then reworded by a person outside still leads to
    the entry that it came from, before and after its new words are in a version."""
    log.append(root, [NewHistoryEntry("- [durable] The user grows tomatoes on the balcony.")])
    dream(root, "USER.md", b"- Has two cats", b"- Has two cats\n- Grows tomatoes on the balcony", 1)
    place = open_workspace(root, Actor("review", run="dream:8"))
    memory = place.read("memory/MEMORY.md").data
    user = place.read("USER.md").data
    line = b"- Grows tomatoes on the balcony\n"
    place.write_many({"memory/MEMORY.md": memory + line, "USER.md": user.replace(line, b"")})
    number = (memory + line).count(b"\n")
    found = why(workspace, "memory/MEMORY.md", number)
    assert found.writes[0].relation == "moved"
    assert found.writes[0].was_path == "USER.md"
    assert [row.cursor for row in found.entries] == [1]

    commits.commit_pending(root)
    path = root / "memory/MEMORY.md"
    path.write_bytes(path.read_bytes().replace(line, b"- Grows tomatoes on the sunny balcony\n"))
    for _ in range(2):
        found = why(workspace, "memory/MEMORY.md", number)
        assert [row.cursor for row in found.entries] == [1]
        commits.commit_pending(root)
    assert (found.writes[0].actor, found.writes[0].relation) == ("outside", "replaced")


def test_lines_older_than_the_ledger_are_told_by_their_version(workspace, root):
    """Where no write was noted, the version that brought the line is named; an unknown line, a
    file that is none and a blank line are said to be so."""
    commits.commit_pending(root)
    origins.save_origins(workspace)
    LineOrigin.objects.all().delete()
    found = why(workspace, "USER.md", 5)
    assert found.writes == ()
    assert found.version is not None
    assert "older than the record" in found.message
    for place in ("USER.md:400", "USER.md:2", "output/x.md:1", "USER.md"):
        with pytest.raises(SystemExit):
            call_command("why", place, "--json", stdout=io.StringIO())


def test_a_database_that_is_away_stops_no_write_and_loses_nothing(workspace, root):
    """Writes go on while the database refuses; afterwards each is in the ledger once, also when
    the process was stopped between storing and clearing the notes."""
    origins.save_origins(workspace)
    before = LineOrigin.objects.count()
    dream(root, "USER.md", b"- Has two cats", b"- Has two cats\n- Plays the cello")
    with mock.patch.object(LineOrigin.objects, "bulk_create", side_effect=DatabaseError("locked")):
        assert origins.save_origins(workspace) is False
    assert LineOrigin.objects.count() == before
    noted = (root / ".jenny" / provenance.NAME).read_bytes()
    assert b"cello" not in noted
    assert origins.save_origins(workspace) is True
    assert not (root / ".jenny" / provenance.NAME).exists()
    after = LineOrigin.objects.count()
    assert after > before
    (root / ".jenny" / provenance.NAME).write_bytes(noted + b'{"act": torn')
    assert origins.save_origins(workspace) is True
    assert LineOrigin.objects.count() == after
    rows = list(origins.exported(workspace))
    assert rows[-1]["digest"] == digest("Plays the cello")


WRITER = """
import sys
from pathlib import Path
from jenny.workspace.files import Actor, open_workspace
from jenny.workspace.write_rules import register_act_rule
from memory import provenance, write_rules
write_rules.install()
register_act_rule(provenance.record_origins)
root, number = Path(sys.argv[1]), sys.argv[2]
place = open_workspace(root, Actor("chat", run=f"turn:{number}"))
for turn in range(5):
    line = f"- Fact {number} and {turn}\\n".encode()
    place.edit("USER.md", lambda data, line=line: (data or b"") + line)
"""


def test_writers_at_once_are_all_noted(workspace, root):
    """Processes that write at the same time, while the notes are taken over, leave a row for
    each of their lines, and each turn's change whole."""
    crowd = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(root), str(number)])
        for number in range(3)
    ]
    while any(one.poll() is None for one in crowd):
        assert origins.save_origins(workspace)
    assert [one.wait() for one in crowd] == [0, 0, 0]
    assert origins.save_origins(workspace)
    digests = set(LineOrigin.objects.values_list("digest", flat=True))
    lines = {digest(f"Fact {number} and {turn}") for number in range(3) for turn in range(5)}
    assert lines <= digests
    for number in range(3):
        (row,) = origins.changes_of(workspace, f"turn:{number}")
        assert b"Fact" in bytes(row.after)
    assert origins.holding(workspace, "Fact 1 and 4")
    assert TurnChange.objects.count() == 3
