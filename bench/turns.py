"""A message on its way to the model, and the model's words on their way to the browser."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from bench import peers
from bench.harness import Bar, Row, median, percentile, take_turns
from bench.instance import PASSWORD, Visitor, running, scratch_folder
from bench.prompt import make_workspace
from bench.scripted import FIRST, LATER, Model
from tests.support.waiting import wait_until

RUNS = 25
WARM_UP = 3
CHATS = 50
ROUNDS = 5
# An answer at length takes five seconds; the rest is for starting fifty of them.
ROUND_SECONDS = 8.0
SPREAD_SECONDS = 2.5


def rows() -> list[Row]:
    """All rows of this module; one instance and one process of the peer serve them."""
    with (
        scratch_folder() as scratch,
        Model() as model,
        running(scratch / "data", model.server.url) as stack,
        peers.Peer(scratch) as peer,
    ):
        found = []
        for skills in (5, 100):
            name = f"with{skills}"
            stack.manage("create_account", "--username", name, said=f"{PASSWORD}\n")
            root = next((scratch / "data" / "workspaces").glob(f"*{name}*"))
            peer_root = scratch / f"peer-{skills}"
            peer_root.mkdir()
            for folder in (root, peer_root):
                make_workspace(folder, skills, 0)
            config = scratch / f"peer-{skills}.json"
            config.write_text(json.dumps(peers.configuration(peer_root, model.server.url)))
            peer.ask("open", name=name, config=str(config))
            found.append(_until_asked(model, Visitor(stack, name), peer, name, skills))
        visitor = Visitor(stack, "with5")
        return [*found, *_until_seen(visitor, peer), *_fifty(visitor, peer)]


def _until_asked(model: Model, visitor: Visitor, peer: peers.Peer, name: str, skills: int) -> Row:
    """Message sent → request at the model."""
    chat = visitor.client.begin("Hello")
    visitor.wait_idle(chat)

    def ours() -> float:
        visitor.connect()
        before = len(model.asked)
        visitor.send(chat, f"sent {time.monotonic_ns()}.")
        # Whoever looks at the page meanwhile would be measured, too.
        wait_until(lambda: len(model.asked) > before, 20, "the request")
        visitor.wait_idle(chat)
        return model.asked[-1]

    def theirs() -> float:
        peer.ask("send", name=name, session="bench:one")
        return model.asked[-1]

    take_turns(WARM_UP, ours=ours, theirs=theirs)
    times = take_turns(RUNS, ours=ours, theirs=theirs)
    limit = 25.0 if skills == 5 else None
    return Row(
        f"message sent → request at the model, {skills} skills",
        "ms",
        median(times["ours"]),
        median(times["theirs"]),
        Bar(limit=limit, share=1 / 4),
        "ours: HTTP, web, queue, worker; peer: in process",
    )


def _until_seen(visitor: Visitor, peer: peers.Peer) -> list[Row]:
    """Model's first chunk → browser, one chat."""
    chat = visitor.client.begin("Hello")
    visitor.wait_idle(chat)

    def ours() -> float:
        visitor.connect()
        return _heard(visitor, [chat], 1.5, lambda: visitor.send(chat, "sent 0."))["first"][-1]

    def theirs() -> float:
        return _latencies(peer.ask("send", name="with5", session="bench:two"))["first"][-1]

    take_turns(1, ours=ours, theirs=theirs)
    times = take_turns(RUNS // 3, ours=ours, theirs=theirs)
    return [
        Row(
            "model's first chunk → browser, one chat",
            "ms",
            median(times["ours"]),
            median(times["theirs"]),
            Bar(limit=5),
            "peer: to its event in process, no browser",
        )
    ]


def _fifty(visitor: Visitor, peer: peers.Peer) -> list[Row]:
    """The same with fifty chats that all stream at once, a word each 100 ms."""
    visitor.connect()
    chats = [visitor.client.begin(f"Hello {number}") for number in range(CHATS)]
    for chat in chats:
        visitor.wait_idle(chat)
    sessions = [f"bench:{number}" for number in range(CHATS)]
    found = []
    for spread, words in ((SPREAD_SECONDS, "turns begun over 2.5 s"), (0.0, "begun in a burst")):

        def send_all(pause: float = spread / CHATS) -> None:
            visitor.connect()
            for chat in chats:
                visitor.send(chat, "sent 0. Speak at length.")
                time.sleep(pause)

        first: list[float] = []
        later: list[float] = []
        theirs: list[float] = []
        for _ in range(ROUNDS):
            heard = _heard(visitor, chats, spread + ROUND_SECONDS, send_all)
            first += heard["first"]
            later += heard["later"]
            for chat in chats:
                visitor.wait_idle(chat)
            if not spread:
                answer = peer.ask("send_all", name="with5", sessions=sessions, more="at length")
                theirs += _latencies(answer)["first"]
        work = f"model's first chunk → browser, {CHATS} chats at once"
        note = (
            f"{words}; {len(first)} first chunks, median of {len(later)} later {median(later)} ms"
        )
        for name, share, limit in (("median", 0.5, 5), ("p99", 0.99, 20)):
            peer_value = percentile(theirs, share) if theirs else None
            row = Row(
                f"{work}, {name}", "ms", percentile(first, share), peer_value, Bar(limit), note
            )
            found.append(row)
    return found


def _heard(
    visitor: Visitor, chats: list[str], seconds: float, act: Callable[[], object]
) -> dict[str, list[float]]:
    """What listeners to *chats* heard of what *act* began, in milliseconds."""
    words = [str(visitor.port), visitor.cookie, str(seconds), *chats]
    with subprocess.Popen(
        [sys.executable, "-m", "bench.listen", *words],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[1],
    ) as process:
        assert process.stdout
        process.stdout.readline()
        act()
        return json.loads(process.stdout.readline())


def _latencies(answer: dict[str, list[list]]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {"first": [], "later": []}
    for now, text in answer["pieces"]:
        for name, stamps in (("first", FIRST), ("later", LATER)):
            found[name] += [(now - int(stamp)) / 1e6 for stamp in stamps.findall(text)]
    return found
