"""Conversations inside a project: what goes in, and that nothing comes out of its folder."""

import json
import re
from contextlib import closing

from memory.history import log
from memory.history.entries import NewHistoryEntry
from tests.model_server import Call, Gate
from tests.support.chat import asked
from tests.support.client import text_of
from tests.support.place import FACT, FULL, answers, sums
from tests.support.stack import OWNER
from tests.support.waiting import wait_until

# What stands where; each word is in one place of the workspace alone.
SOUL, USER, MEMORY = "Soulmark speaks slowly.", "Usermark likes plums.", "Memorymark is on."
PENDING, OTHER, GUIDE = "Pendingmark was said.", "Othermark grows.", "Guidemark rules here."
OWN, PAGE, RAW = "Ownmark is how we work.", "Pagemark has six legs.", "Rawmark was clipped."


def project(place, name: str, header: str = "") -> str:
    """A project beside another one, in a workspace in which everything says something."""
    put = {
        "SOUL.md": SOUL,
        "USER.md": USER,
        "AGENTS.md": GUIDE,
        "memory/MEMORY.md": MEMORY,
        f"wikis/{name}/AGENTS.md": f"---\nsummary: All about {name}\n{header}---\n\n{OWN}\n",
        f"wikis/{name}/SOUL.md": "Falsesoul.",
        f"wikis/{name}/USER.md": "Falseuser.",
        f"wikis/{name}/memory/MEMORY.md": "Falsememory.",
        f"wikis/{name}/wiki/index.md": f"# {name}\n\n{PAGE}\n",
        f"wikis/{name}/raw/clip.md": RAW,
        "wikis/otherplace/AGENTS.md": f"---\nsummary: {OTHER}\n---\n",
        "wikis/otherplace/wiki/index.md": OTHER,
    }
    for path, text in put.items():
        file = place.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")
    return name


def begin(place, name: str, said: str) -> str:
    """Begin a conversation in a project."""
    answer = place.owner.post("/chat/send", text=said, project=name)
    return str(answer.json()["conversation"])


def history(place) -> bytes:
    """All that the history holds."""
    file = place.root / "memory/history.jsonl"
    return file.read_bytes() if file.exists() else b""


def test_what_is_read_in_and_what_is_not(place, words):
    """The person and the memory are known; the rest of the workspace, the list of wikis and other
    projects are not, whatever the tools are asked for."""
    name = project(place, "bees")
    log.append(place.root, [NewHistoryEntry(f"- [durable] {PENDING}", conversation="x")])
    (place.root / f"wikis/{name}/wiki/way-out.md").symlink_to(place.root / "AGENTS.md")
    reads = [
        Call(tool, {"path": path})
        for tool in ("read_file", "list_dir")
        for path in (
            *("AGENTS.md", "../../AGENTS.md", "/AGENTS.md", str(place.root / "AGENTS.md")),
            *("wikis/otherplace/wiki/index.md", "../otherplace/wiki/index.md", "../..", ".."),
            *("wikis/bees/../otherplace/wiki", "wiki/way-out.md", "memory/history.jsonl"),
        )
    ]
    searches = [
        Call("grep", {"pattern": "mark"}),
        Call("grep", {"pattern": "mark", "path": "../.."}),
        Call("find_files", {"pattern": "**/*"}),
        Call("list_pages", {}),
        Call("list_pages", {"folder": "../../otherplace/wiki"}),
        Call("read_skill", {"name": "../../AGENTS.md"}),
        Call("python_exec", {"code": "print(open('/AGENTS.md').read())"}),
        Call("python_exec", {"code": "print(open('/wikis/otherplace/wiki/index.md').read())"}),
    ]
    place.model.script(*reads, *searches, when=answers(words))
    place.model.script("Done.", when=answers(words))
    chat = begin(place, name, words)
    thread = text_of(place.owner.answer(chat))
    requests = asked(place.model, words)
    wire = b"\n".join(request.body for request in requests).decode()
    system = json.dumps(requests[0].json["system"])
    for mark in (SOUL, USER, MEMORY, PENDING, OWN, PAGE):
        assert mark in system, mark
    for mark in (OTHER, GUIDE, "## Wikis", "## Archive", "Falsesoul", "Falseuser", "Falsememory"):
        assert mark not in wire.replace("OWN", ""), mark
    assert "otherplace/AGENTS" not in wire
    # Its own folder is all there for the tools.
    assert "raw/clip.md" in thread
    assert {tool["name"] for tool in requests[0].json["tools"]}.isdisjoint(
        {"recall", "remember", "forget", "search_chats"}
    )


def test_a_project_may_leave_the_memory_out(place, words):
    """``memory: profile`` in its header: who the person is, and nothing else of the memory."""
    name = project(place, "quiet", "memory: profile\n")
    log.append(place.root, [NewHistoryEntry(f"- [durable] {PENDING}", conversation="x")])
    place.model.script("Yes.", when=answers(words))
    place.owner.answer(begin(place, name, words))
    system = json.dumps(asked(place.model, words)[0].json["system"])
    assert SOUL in system
    assert USER in system
    assert MEMORY not in system
    assert PENDING not in system


def test_nothing_comes_out_of_its_folder(place, words):
    """Writes elsewhere are refused; what is said is noted in its log, summarised into its log, and
    the history has nothing of it, whatever ends the conversation."""
    name = project(place, "garden")
    before = {
        path: path.read_bytes()
        for path in place.root.rglob("*")
        if path.is_file() and ".git" not in path.parts and f"wikis/{name}/" not in str(path)
    }
    writes = [
        Call("write_file", {"path": path, "content": words})
        for path in ("../../USER.md", "/USER.md", "../otherplace/wiki/new.md", str(place.root))
    ]
    calls = [
        *writes,
        Call("edit_file", {"path": "../../USER.md", "old_text": "plums", "new_text": words}),
        Call("apply_patch", {"edits": [{"path": "../x.md", "new_text": words}]}),
        Call("note", {"fact": f"The {words} were planted on 3 May 2026."}),
        Call("add_page", {"title": "Pear trees", "text": f"They {words}", "folder": "concepts"}),
        Call("remember", {"text": words}),
    ]
    place.model.script(*calls, when=answers(words + " turn 1"))
    place.model.script(FACT.format(words), when=sums(words))
    chat = place.talk(words, 4, FULL, begin=lambda said: begin(place, name, said))
    folder = place.root / "wikis" / name

    def logged() -> str:
        return "".join(file.read_text() for file in sorted((folder / "log").glob("*.md")))

    text = wait_until(lambda: found if "keeps" in (found := logged()) else "", what="the summary")
    assert re.search(rf"^- \d\d:\d\d — The {re.escape(words)} were planted on", text, re.MULTILINE)
    assert re.search(rf"^- \d\d:\d\d — {re.escape(FACT.format(words)[12:])}$", text, re.MULTILINE)
    assert (folder / "wiki/concepts/pear-trees.md").read_text() == f"# Pear trees\n\nThey {words}\n"
    assert "[[concepts/pear-trees|Pear trees]]" in (folder / "wiki/index.md").read_text()
    wait_until(lambda: not place.held(chat), what="the end of it")
    place.model.script("And on.", when=answers("go on " + words))
    place.owner.send(chat, "go on " + words)
    place.owner.answer(chat)
    system = json.dumps(asked(place.model, "go on " + words)[0].json["system"])
    assert "# Earlier in this conversation" in system
    summary = "\n".join(place.summaries(words)[0].body.decode() for _ in (1,))
    assert MEMORY not in summary
    assert "the project’s log has it" in text_of(place.owner.thread(chat))
    place.owner.send(chat, "/new")
    place.idle(chat)
    place.stack.manage("consolidate", "--all")
    assert place.entries(chat) == []
    assert words.encode() not in history(place)
    after = {path: path.read_bytes() for path in before if path.exists()}
    changed = {path for path in before if before[path] != after.get(path)}
    assert {path.name for path in changed} <= {"history.jsonl", ".cursor", "workspace.lock"}
    assert not any(words.encode() in data for data in after.values())
    assert words not in (place.root / "USER.md").read_text()


def test_a_summary_is_logged_once(place, words):
    """A worker that is killed between the log and its own row repeats nothing in the log."""
    name = project(place, "once")
    place.model.script(FACT.format(words), when=sums(words))
    place.model.script(FACT.format(words), when=sums(words))
    chat = place.talk(words, 4, FULL, begin=lambda said: begin(place, name, said))
    folder = place.root / "wikis" / name / "log"

    def lines() -> list[str]:
        return [line for file in folder.glob("*.md") for line in file.read_text().splitlines()]

    wait_until(lambda: any("keeps" in line for line in lines()), what="the summary")
    wait_until(lambda: not place.held(chat), what="the end of it")
    before = lines()
    summary = place.summaries(words)[-1]
    # As if the row had not been written any more when the log was: the same part comes again.
    place.change(chat, "summarised_through = 0, context_from = 0, tokens_gone = 0")
    seen = len(place.summaries(words))
    script = "from jenny.chat.tasks import consolidate; consolidate({!r}, 'pressure')"
    place.stack.manage("shell", "-v0", "-c", script.format(chat))
    wait_until(lambda: not place.held(chat), what="the end of it")
    assert len(place.summaries(words)) > seen
    assert summary.texts("user")[-1] == place.summaries(words)[-1].texts("user")[-1]
    assert place.column(chat, "summarised_through") > 0
    assert lines() == before
    # Other messages with the same numbers, as an older copy of the database brings: they are said.
    with closing(place.database()) as rows:
        rows.execute(
            "update chat_message set created_at = datetime(created_at, '+1 day') "
            "where conversation_id = ?",
            (chat.replace("-", ""),),
        )
    place.change(chat, "summarised_through = 0, context_from = 0, tokens_gone = 0")
    place.model.script(FACT.format(words), when=sums(words))
    place.stack.manage("shell", "-v0", "-c", script.format(chat))
    wait_until(lambda: not place.held(chat), what="the end of it")
    assert len(lines()) > len(before)


def test_commands_of_the_memory_are_refused(place, words):
    """They say that nothing in a project reaches the memory, and where they work."""
    name = project(place, "refusals")
    place.model.script("Yes.", when=answers(words))
    chat = begin(place, name, words)
    place.owner.answer(chat)
    before = history(place)
    for command in ("/dream", "/dream now", f"/remember {words}", f"/forget {words}", "/recall x"):
        place.owner.send(chat, command)
    thread = text_of(place.owner.thread(chat))
    assert thread.count("nothing in a project reaches the memory") == 5
    assert "Dreaming…" not in thread
    assert history(place) == before
    assert "Remember" not in place.owner.thread(chat)
    answers_of = place.owner.post(f"/chat/{chat}/remember", message="1")
    assert answers_of.status_code == 404 or b"project" in answers_of.content


def test_projects_are_gone_to_and_listed_by_name(place, words):
    """``/project`` lists them with their scopes and leads into one; the column beside the page has
    their conversations under their names; ``say --project`` goes on there."""
    name = project(place, "listed")
    place.model.script("Hello.", when=answers(words))
    told = json.loads(place.stack.manage("say", "--project", name, "--json", words))
    plain = place.owner.begin("/project")
    thread = place.owner.thread(plain)
    assert "All about listed" in text_of(thread)
    assert "/chat/?project=listed" in thread
    place.owner.send(plain, "/project LISTED")
    assert told["conversation"] in place.owner.thread(plain)
    place.owner.send(plain, "/project nowhere")
    assert "There is no project nowhere" in text_of(place.owner.thread(plain))
    page = place.owner.page(told["conversation"])
    listed = page.partition(f">Project {name}</h2>")[2].partition("</ul>")[0]
    assert told["conversation"] in listed
    assert "nothing said here reaches Jenny’s memory" in text_of(page)
    new = place.owner.get(f"/chat/?project={name}").text
    assert f'name="project" value="{name}"' in new
    again = json.loads(place.stack.manage("say", "--project", name, "--json", "/status"))
    assert again["conversation"] == told["conversation"]


def test_a_project_that_is_gone_is_told_of(place, words):
    """Its conversations can still be read; what is sent is kept, and the turn says why nothing
    is answered. No new one begins where there is no folder."""
    name = project(place, "leaving")
    place.model.script("Here.", when=answers(words))
    chat = begin(place, name, words)
    place.owner.answer(chat)
    (place.root / "wikis" / name).rename(place.root / "wikis" / "moved")
    place.owner.send(chat, "still there?")
    thread = text_of(place.owner.answer(chat))
    assert "There is no wiki “leaving”" in thread
    assert "still there?" in thread
    assert "There is no wiki “leaving”" in text_of(place.owner.page(chat))
    refused = place.owner.post("/chat/send", text="Hello", project="../leaving")
    assert refused.status_code == 422
    assert place.owner.get("/chat/?project=leaving").status_code == 404
    for hostile in ("..", "../..", ".git", "a/b", "x" * 300, "no%00body"):
        assert place.owner.get(f"/chat/?project={hostile}").status_code in (400, 404)


def tidied(place, chat: str) -> str:
    """``/tidy``, and what came of it."""
    place.owner.send(chat, "/tidy")

    def told() -> str:
        thread = text_of(place.owner.thread(chat))
        return thread if "Tidying…" not in thread else ""

    return wait_until(told, what="the gardener")


def gardens(words: str):
    """A rule for scripts: the gardener is asked about lines that say *words*."""
    return lambda request: (
        any(tool["name"] == "finish_tidying" for tool in request.json.get("tools") or [])
        and any(words in text for text in request.texts("user"))
    )


def test_the_log_becomes_pages(place, words):
    """A noted fact is in the log, after /tidy on a page with its state and source, and in the next
    conversation of that project; in no other. The gardener is told the time, and is shown neither
    person nor memory."""
    name = project(place, "orchard")
    fact = f"The {words} stand in row 4"
    place.model.script(Call("note", {"fact": fact}), when=answers(words))
    place.model.script("Noted.", when=answers(words))
    chat = begin(place, name, words)
    place.owner.answer(chat)
    folder = place.root / "wikis" / name
    (log_file,) = (folder / "log").glob("*.md")
    logged = log_file.read_bytes()
    source = f"log/{log_file.name}"
    new = {"title": "Rows", "text": f"{fact}.", "state": "decided", "source": source}
    beside = [
        Call("edit_file", {"path": path, "old_text": "Ownmark", "new_text": "Gone"})
        for path in ("AGENTS.md", "../../USER.md")
    ]
    place.model.script(
        *beside,
        Call("apply_patch", {"edits": [{"path": source, "old_text": fact, "new_text": ""}]}),
        Call("add_page", new),
        Call("add_open", {"question": f"Row 4 or row 5 for {words}?"}),
        Call("finish_tidying", {"summary": "One page.", "left_out": []}),
        when=gardens(words),
    )
    place.model.script("Done.", when=gardens(words))
    thread = tidied(place, chat)
    assert "1 line of the log of orchard went into 2 pages." in thread
    page = (folder / "wiki/rows.md").read_text()
    assert page.startswith(f'---\nstate: "decided"\nsource: "{source}"\n---\n\n# Rows\n')
    assert fact in page
    assert f"## Open\n\n- Row 4 or row 5 for {words}?" in (folder / "wiki/index.md").read_text()
    assert log_file.read_bytes() == logged
    assert OWN in (folder / "AGENTS.md").read_text()
    (asked_first, *_) = [one for one in place.model.requests if gardens(words)(one)]
    days = "Mon|Tues|Wednes|Thurs|Fri|Satur|Sun"
    said = asked_first.texts("user")[0]
    assert re.match(rf"Now: ({days})day, \d+ \w+ 20\d\d, \d\d:\d\d \(", said), said
    wire = asked_first.body.decode()
    for mark in (SOUL, USER, MEMORY, OTHER, GUIDE, "## Wikis", "orchard/AGENTS"):
        assert mark not in wire
    assert OWN in wire
    assert PAGE in wire
    report = text_of(place.owner.get(re.search(r"/jobs/\d+/", place.owner.thread(chat))[0]).text)
    assert f"+{fact}." in report
    assert "wikis/orchard/wiki/rows.md" in report
    for where, is_known in ((name, True), (project(place, "cellar"), False), ("", False)):
        said = f"later in {where or 'none'} {words}"
        place.model.script("Yes.", when=answers(said))
        other = begin(place, where, said) if where else place.owner.begin(said)
        place.owner.answer(other)
        wire = b"".join(one.body for one in asked(place.model, said)).decode()
        assert (fact in wire) == is_known
    again = tidied(place, chat)
    assert "There is nothing new in the log of orchard" in again
    assert words.encode() not in history(place)


def test_a_gardener_that_fails_reads_the_same_lines_again(place, words):
    """Prose without an account, an error, a loop: each is said, nothing is passed over, and after
    three failures in a row a notice stands on every page, until it works again."""
    name = project(place, "stubborn")
    (place.root / "wikis" / name / "log").mkdir()
    (place.root / f"wikis/{name}/log/20260503.md").write_text(f"- 10:00 — {words}\n")
    place.model.script("Hello.", when=answers(words + " begin"))
    chat = begin(place, name, words + " begin")
    place.owner.answer(chat)
    for _ in range(3):
        place.model.script("I think it is fine.", when=gardens(words))
        place.model.script("I think so.", when=gardens(words))
        thread = tidied(place, chat)
    assert thread.count("The log is as it was, and the same lines are read again") >= 3
    assert "could not be made into pages 3 times in a row" in text_of(place.owner.page(chat))
    done = {"summary": "Nothing to keep.", "left_out": ["1: a remark"]}
    place.model.script(Call("finish_tidying", done), when=gardens(words))
    place.model.script("Done.", when=gardens(words))
    thread = tidied(place, chat)
    assert "1 line of the log of stubborn was read; the pages needed no change." in thread
    assert "times in a row" not in text_of(place.owner.page(chat))


def test_what_a_restore_takes_back_is_read_again(place, words):
    """Pages that a restore takes back are made of the same lines once more, whether the gardener
    was through or still at work; then it ends, and counts nothing as read."""
    name = project(place, "grafting")
    file = place.root / f"wikis/{name}/log/20260101.md"
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"- 09:00 — The {words} was grafted\n")
    place.model.script("Hello.", when=answers(f"{words} begin"))
    chat = begin(place, name, f"{words} begin")
    place.owner.answer(chat)
    page = Call("add_page", {"title": "Grafts", "text": f"The {words} was grafted."})
    done = Call("finish_tidying", {"summary": "One page.", "left_out": []})
    made = place.root / f"wikis/{name}/wiki/grafts.md"

    def restored(snapshot: str) -> None:
        words = ("snapshot", "restore", "--workspace", OWNER, "--yes")
        place.stack.manage(*words, snapshot, f"wikis/{name}/wiki")
        assert not made.exists()

    place.model.script(page, done, when=gardens(words))
    place.model.script("Done.", when=gardens(words))
    thread = tidied(place, chat)
    assert "went into 2 pages" in thread
    report = place.owner.get(re.search(r"/jobs/\d+/", place.owner.thread(chat))[0]).text
    before = re.search(r"/snapshots/(\d+-\w+)/", report)[1]
    restored(before)
    place.model.script(page, when=gardens(words))
    place.model.script(Gate(f"tidy {words}"), done, when=gardens(words))
    place.owner.send(chat, "/tidy")
    wait_until(made.exists, what="the page")
    restored(before)
    place.model.open(f"tidy {words}")
    thread = wait_until(
        lambda: "Tidying…" not in (said := text_of(place.owner.thread(chat))) and said,
        what="the gardener",
    )
    assert "The project was restored meanwhile, so the gardener stopped." in thread
    assert "The log is as it was, and the same lines are read again" in thread
    place.model.script(page, done, when=gardens(words))
    place.model.script("Done.", when=gardens(words))
    assert tidied(place, chat).count("went into 2 pages") == 2
    assert made.exists()


def test_a_deleted_project_takes_its_conversations_or_leaves_them(place, words):
    """As chosen: kept ones can be read, deleted ones are gone; the folder is in the trash."""
    for choice, status in (("keep", 200), ("delete", 404)):
        name = project(place, f"going-{choice}")
        place.model.script("Here.", when=answers(words + choice))
        chat = begin(place, name, words + choice)
        place.owner.answer(chat)
        asks = text_of(place.owner.get(f"/wiki/remove/{name}/").text)
        assert "the 1 conversation inside it" in asks
        place.owner.post(f"/wiki/remove/{name}/", talks=choice)
        assert not (place.root / "wikis" / name).exists()
        assert place.owner.get(f"/chat/{chat}/").status_code == status
