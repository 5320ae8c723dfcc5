"""Random sequences of what people, chats and Dream do to the memory of one workspace."""

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

from django.conf import settings

from jenny.accounts.models import Workspace
from jenny.chat.models import Conversation, Message
from jenny.chat.services import branches, consolidation, deletion, send_message, turns
from jenny.chat.services.send_message import MessageRefused
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.files import Actor, open_workspace
from jenny.workspace.versions import commits
from jenny.workspace.versions.history import open_history
from jenny.workspace.versions.undo import undo
from memory import archive, suppression
from memory.errors import NotArchived, NotForgotten
from memory.services import approvals, forgotten_facts, restores, snapshots
from settings_ui.services import workspaces
from settings_ui.services.backups import exporter, import_job
from tests.model_server import Act, Call, Fail, ModelServer, Request, Say
from tests.support.chat import is_summary
from tests.support.dreams import Dreams, batch_of, finish, is_review
from tests.support.fact_search import FILES, FactSearch, Found, words_in

# Each says one thing; the word in it is nowhere else.
FORMS = (
    "The boat {} is painted red.",
    "Ana lent {} fifty euros in May.",
    "Die Kühe von {} heißen Alma und Berta.",
    "राम का पोता {} डॉक्टर है।",
    "{} さんは金曜日に来ます。",
    "妹妹 {} 住在湖边的老房子里。",
    "Бабушка {} живёт у озера.",
    "أخت {} تعمل طبيبة أسنان.",
    "{} 씨는 화요일마다 수영합니다.",
    "คุณ {} ชอบดื่มชา",
)
# Who may have taken a fact out of the memory in an act, as the archive and the versions say it.
_DREAM = {"dream", "review"}
_PERSON = {"browser", "outside", "command"}
WILLS = {
    "dream": _DREAM,
    "decide": _DREAM | _PERSON,
    "accept_all": _DREAM,
    "edit": _PERSON,
    "talk": {"chat"},
    "forget": {"command"},
    "undo": {"restore", "undo"},
    "restore": {"restore"},
    "import_backup": {"restore"},
}
# Acts after which something more may be forgotten: those in which a person says so.
FORGETTING = frozenset({"edit", "decide", "forget", "talk", "import_backup"})
REFUSALS = (WorkspaceError, NotForgotten, NotArchived, MessageRefused)


class Summariser(Act):
    """Gives the facts of the text that it is shown, each with its tag."""

    def __init__(self, facts: dict[str, str]) -> None:
        self._facts = facts
        self._text = ""

    def is_asked(self, request: Request) -> bool:
        """Recognise a request for a summary, and keep its text for the answer."""
        if request.path != "/v1/messages" or not is_summary(request):
            return False
        self._text = "\n".join(request.texts("user")).partition("# The conversation")[2]
        return True

    def play(self, answer: object) -> None:
        """Answer."""
        words = sorted(words_in(self._text) & self._facts.keys())
        told = "\n".join(f"- [durable] {self._facts[word]}" for word in words)
        Say(told or "(nothing)").play(answer)


class Sequence:
    """One workspace, what is done to it, and what was said in it."""

    def __init__(self, dreams: Dreams, chance: random.Random, number: int) -> None:
        self.dreams = dreams
        self.chance = chance
        self.number = number
        self.search = FactSearch(dreams.workspace)
        self.facts: dict[str, str] = {}
        self.snapshots: list[str] = []
        self.backups: list[Path] = []
        self.done: list[str] = []
        # The acts that took a fact out of somewhere, what a person deleted, and faults seen on the
        # way.
        self.taken: dict[str, list[str]] = {}
        self.deleted: set[str] = set()
        # What a person had forgotten at any time.
        self.forgotten: set[str] = set()
        self.faults: list[str] = []

    @property
    def workspace(self) -> Workspace:
        return self.dreams.workspace

    @property
    def model(self) -> ModelServer:
        return self.dreams.model

    @property
    def root(self) -> Path:
        return self.dreams.root

    def fact(self) -> str:
        """A new fact."""
        word = f"zq{self.number}x{len(self.facts)}q"
        self.facts[word] = self.chance.choice(FORMS).format(word)
        return self.facts[word]

    def do(self, act: Callable[[], None]) -> None:
        """Do something, and note what it took out of the memory."""
        name = act.__name__
        self.done.append(name)
        before, forgotten = self.search.present(), self.search.forgotten()
        stood = self.search.standing()
        known = set(self.facts)
        self.model._scripts.clear()
        self.model._rules.clear()
        summariser = Summariser(self.facts)
        self.model.always(summariser.is_asked, summariser)
        try:
            act()
        except REFUSALS as refused:
            self.done[-1] += f" (refused: {str(refused)[:60]})"
        present, stands = self.search.present(), self.search.standing()
        gone = (before.keys() | self.facts.keys() - known) - present.keys()
        for word in gone | (stood - stands):
            self.taken.setdefault(word, []).append(name)
        more = self.search.forgotten().keys() - forgotten.keys()
        self.forgotten |= more
        if more and name not in FORGETTING:
            self.faults.append(f"{name} had forgotten {sorted(more)}")

    def unaccounted(self) -> list[str]:
        """The facts that are nowhere, or were taken out by nobody's will."""
        present, away = self.search.present(), self.search.kept_away()
        faults = list(self.faults)
        for word in self.facts.keys() - present.keys() - self.deleted:
            found = away.get(word, [])
            acts = self.taken.get(word, [])
            wills = {"", *(will for act in acts for will in WILLS.get(act, ()))}
            if _is_willed(found, wills):
                continue
            if soul := self.search.in_versions_of_soul(word):
                found = [*found, soul]
            if not found:
                faults.append(f"{word} is nowhere; it was taken out by {acts}")
            elif not _is_willed(found, wills):
                faults.append(f"{word}: {found}, taken out by {acts}")
        return faults

    # --- What may happen ---------------------------------------------------------------------

    def say(self) -> None:
        """Something is said, and summarised."""
        self.dreams.say(*(f"- [durable] {self.fact()}" for _ in range(self.chance.randint(1, 2))))

    def talk(self) -> None:
        """The person says something in a chat, and Jenny may use her tools for the memory."""
        said = [self.fact() for _ in range(self.chance.randint(1, 2))]
        if self.chance.random() < 0.2:
            said.append(self.chance.choice(list(self.facts.values())))
        chats = self.chats()
        chat = self.chance.choice([*chats, Conversation(workspace=self.workspace)])
        if chat not in chats:
            chat.save()
        for call in self.chance.choice(([], [], [self.call(said[0])])):
            self.model.script(call, when=is_turn)
        send_message.accept_message(chat, " ".join(said), start=turns.run_turn)

    def call(self, said: str) -> Call:
        """Return a call of Jenny's in a turn: she remembers, forgets, or edits a line."""
        lines = [(path, line) for path in FILES for line in self.search.lines(path)]
        what = self.chance.choice(("remember", "forget", "edit", "remove"))
        if what == "remember" or not lines:
            return Call("remember", {"text": said})
        path, line = self.chance.choice(lines)
        if what == "forget":
            return Call("forget", {"text": line.strip().removeprefix("- ")})
        old, new = (line, f"{line} As was said.") if what == "edit" else (f"{line}\n", "")
        return Call("edit_file", {"path": path, "old_text": old, "new_text": new})

    def chats(self) -> list[Conversation]:
        """The conversations, oldest first."""
        return list(Conversation.objects.filter(workspace=self.workspace).order_by("created_at"))

    def summarise(self) -> None:
        """A conversation is summarised, or kept word for word since its model fails."""
        chats = self.chats()
        if not chats:
            return
        if self.chance.random() < 0.25:
            self.model._rules.clear()
            self.model.always(is_summary, Fail(400))
        consolidation.run(self.chance.choice(chats), "asked")

    def edit_message(self) -> None:
        """A person says something else in place of a message; what came after it goes with it."""
        if (row := self.message()) is not None:
            branches.edit_message(row.conversation, row.pk, self.fact(), start=turns.run_turn)

    def show_version(self) -> None:
        """A person goes back or on to another version of a message."""
        if (row := self.message()) is not None:
            branches.show_version(row.conversation, row.pk, self.chance.choice((-1, 1)))

    def message(self) -> Message | None:
        """Something that the person said."""
        rows = Message.objects.filter(conversation__in=self.chats(), kind="user", is_current=True)
        found = list(rows.select_related("conversation").order_by("pk"))
        return self.chance.choice(found) if found else None

    def delete_chat(self) -> None:
        """A person deletes a conversation, and says what the memory keeps of it."""
        chats = self.chats()
        if not chats:
            return
        chat = self.chance.choice(chats)
        what = self.chance.choice((deletion.KEEP, deletion.TAKE, deletion.ADD))
        self.done[-1] += f" ({what})"
        rows = Message.objects.filter(conversation=chat, kind="user")
        goes = rows.filter(is_current=False)
        if what != deletion.ADD:
            goes |= rows.filter(pk__gt=chat.summarised_through)
        if what == deletion.TAKE:
            goes = rows
        words = {word for row in goes for word in words_in(row.text)}
        deletion.delete_conversation(chat, what)
        self.deleted |= words

    def dream(self) -> None:
        """A run writes down what it is shown, and does something to lines that stand or wait; it
        may review the files first."""
        mode = self.chance.choice(("all", "all", "all", "removals", "off"))
        self.dreams.set(approve=mode)
        changes = [self.change(path, line, []) for path, line in self.some_lines()]
        # The calls of one answer, since each request takes as long as several acts.
        self.model.script(*changes, Call("finish", {"entries": []}), when=is_review)
        waiting = self.search.entries()
        if not waiting:
            self.say()
            waiting = self.search.entries()
        shown = waiting[:20]
        calls: list[Call] = []
        for cursor, text in shown:
            for word in sorted(words_in(text)):
                path = self.chance.choice(FILES)
                line = f"- {self.facts[word]}"
                edit = {"path": path, "action": "add", "heading": "Notes", "new_text": line}
                calls.append(Call("apply_patch", {"edits": [edit], "sources": [cursor]}))
        last = [shown[-1][0]]
        calls += [self.change(path, line, last) for path, line in self.some_lines()]
        account = finish(saved=[cursor for cursor, _ in shown])
        self.model.script(*calls, account, when=batch_of)
        # Where that is refused, it ends without an account, and the entries come back.
        self.model.script("Done.", when=batch_of)
        self.model.script("Done.", when=batch_of)
        self.dreams.run()

    def some_lines(self) -> list[tuple[str, str]]:
        """Lines that a run sees: those of the files, and those that wait."""
        rows = [(path, line) for path in FILES for line in self.search.lines(path)]
        rows += self.search.proposed()
        return self.chance.sample(rows, min(len(rows), 2))

    def change(self, path: str, line: str, sources: list[int]) -> Call:
        """Return a run's change of a line: it moves it, archives it, rewords it or takes it out."""
        entry = line.strip().removeprefix("- ")
        move = {"path": path, "entry": entry, "sources": sources}
        edit = {"path": path, "old_text": line, "sources": sources}
        what = self.chance.choice(("archive", "move", "reword", "remove"))
        if what == "archive":
            return Call("move_entry", move | {"to": "archive", "reason": "over"})
        if what == "move":
            other = self.chance.choice([one for one in FILES if one != path])
            return Call("move_entry", move | {"to": other, "heading": "Notes"})
        if what == "reword":
            return Call("edit_file", edit | {"new_text": f"{line} So it is."})
        return Call("edit_file", edit | {"old_text": f"{line}\n", "new_text": ""})

    def decide(self) -> None:
        """A person decides on some of what waits."""
        hunks = approvals.waiting(self.workspace)
        for hunk in self.chance.sample(hunks, min(len(hunks), 2)):
            choices = (approvals.accept_hunk, approvals.reject_hunk, approvals.suppress)
            verdict = self.chance.choices(choices, weights=(2, 1, 1))[0]
            verdict(self.workspace, hunk.id, account=self.workspace.owner)

    def accept_all(self) -> None:
        """A person accepts everything."""
        approvals.accept_all(self.workspace, account=self.workspace.owner)

    def edit(self) -> None:
        """A person adds, rewords, moves about or takes out lines by hand, here or outside."""
        path = self.chance.choice(FILES)
        kind = self.chance.choice(("add", "reword", "remove", "shuffle", "heading", "delete"))
        self.done[-1] += f" ({kind} {path})"
        file = self.root / path
        rows = file.read_text().split("\n") if file.exists() else []
        planted = [at for at, row in enumerate(rows) if words_in(row)]
        if kind == "add":
            rows += [f"- {self.fact()}", ""]
        elif kind == "reword" and planted:
            rows[self.chance.choice(planted)] += " So I was told."
        elif kind == "remove" and planted:
            del rows[self.chance.choice(planted)]
        elif kind == "shuffle":
            self.chance.shuffle(rows)
        elif kind == "heading":
            rows = [row for row in rows if row != "## Notes"]
        data = None if kind == "delete" else "\n".join(rows).encode()
        if self.chance.random() < 0.7:
            workspace = open_workspace(self.root, Actor("browser"))
            workspace.delete(path) if data is None else workspace.write(path, data)
        elif data is not None:
            # An editor outside leaves nothing behind of what no version has yet.
            commits.commit_pending(self.root)
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(data)
            commits.commit_pending(self.root)

    def undo(self) -> None:
        """A person undoes a run."""
        with open_history(self.root) as history:
            found = [row.sha for row in history.log(limit=4)]
        if found:
            undo(self.root, self.chance.choice(found), account=None)

    def snapshot(self) -> None:
        """A snapshot is taken."""
        self.snapshots.append(snapshots.take_snapshot(self.workspace, "manual").snapshot.id)

    def restore(self) -> None:
        """A person restores everything or one file."""
        if self.snapshots:
            path = self.chance.choice(("", *FILES))
            name = self.chance.choice(self.snapshots)
            restores.by_command(self.workspace, name, path, progress=lambda *_: None)

    def export_backup(self) -> None:
        """A person makes a backup."""
        path = self.root.parent / f"{self.root.name}-{len(self.backups)}.zip"
        with_history = self.chance.random() < 0.5
        exporter.to_file(self.workspace, path, file_key=None, with_history=with_history)
        self.backups.append(path)

    def import_backup(self) -> None:
        """A person takes a backup in."""
        if self.backups:
            path = self.chance.choice(self.backups)
            import_job.by_command(self.workspace, path, None, new="")

    def forget(self) -> None:
        """A person has something forgotten."""
        if self.facts:
            words = self.chance.choice([*self.facts, *self.facts.values()])
            suppression.forget(self.root, words, Actor("command"))

    def lift(self) -> None:
        """A person wants something known again that was forgotten."""
        rows = suppression.list_tombstones(self.root)
        if rows:
            forgotten_facts.lift(self.workspace, self.chance.choice(rows).id, Actor("browser"))

    def bring_back(self) -> None:
        """A person brings something back from the archive."""
        rows = archive.listing(self.root)
        if rows:
            archive.bring_back(self.root, self.chance.choice(rows).id, Actor("browser"))

    # --- The whole ---------------------------------------------------------------------------

    def play(self, length: int = 14) -> None:
        """Do so many things; what is refused is no fault."""
        runs = (self.dream, self.dream, self.dream, self.decide, self.decide, self.accept_all)
        chats = (self.say, self.talk, self.talk, self.summarise, self.summarise)
        people = (self.edit, self.edit, self.forget, self.bring_back, self.lift, self.undo)
        rarely = (self.edit_message, self.show_version, self.delete_chat)
        states = (self.snapshot, self.restore, self.export_backup, self.import_backup)
        acts = (*runs, *chats, *people, *rarely, *states)
        for act in [self.talk, self.say, self.dream, *self.chance.choices(acts, k=length)]:
            self.do(act)

    def copied(self) -> "Sequence":
        """The same in a new workspace, by a backup."""
        path = self.root.parent / f"{self.root.name}-whole.zip"
        exporter.to_file(self.workspace, path, file_key=None, with_history=True)
        self.backups.append(path)
        job, _ = import_job.by_command(self.workspace, path, None, new=f"copy {self.number}")
        made = Workspace.objects.get(pk=job.arguments["workspace"])
        other = Sequence(Dreams(made, self.model), self.chance, self.number)
        other.facts, other.taken, other.deleted = self.facts, self.taken, self.deleted
        other.forgotten = self.forgotten
        return other

    def drop(self) -> None:
        """Take away everything of it."""
        for path in self.backups:
            path.unlink(missing_ok=True)
        workspaces._clear(self.workspace)
        shutil.rmtree(
            settings.JENNY_DATA.snapshots / f"{self.workspace.pk}.git", ignore_errors=True
        )
        self.model.requests.clear()


def _is_willed(found: list[Found], wills: set[str]) -> bool:
    """True when a copy says that a person took the fact out, or one of those who did so."""
    is_person = any(row.place != "the archive" and row.by in _PERSON for row in found)
    return is_person or any(row.by in wills for row in found)


def is_turn(request: Request) -> bool:
    """Recognise a request for a turn of a chat."""
    return request.path == "/v1/messages" and "remember" in request.tools


def begin(dreams: Dreams, chance: random.Random, number: int) -> Sequence:
    """A workspace as on its first day."""
    made = Workspace.make(dreams.workspace.owner, f"sequence {number}")
    made.make_folder()
    # As a person may write it by hand; the forms ask for a yes below 12.
    settings = {"agents": {"defaults": {"dream": {"reviewEveryRuns": 2}}}}
    (made.root / "config.json").write_text(json.dumps(settings))
    return Sequence(Dreams(made, dreams.model), chance, number)
