"""The supervisor by itself, with parts made for the purpose, in a process of its own."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.support.stack import ROOT
from tests.support.waiting import wait_until

PREAMBLE = """
import os, signal, subprocess, sys, time
from pathlib import Path
from jenny.runtime.supervisor import Part
from jenny.runtime.supervisor import Supervisor
folder = Path(sys.argv[1])
def say(sentence):
    with (folder / "said").open("a") as file:
        file.write(f"{sentence}\\n")
def stay(ready):
    ready()
    signal.pause()
def run(*parts):
    supervisor = Supervisor(parts, say=say, check=lambda: True,
                            when_ready=lambda: say("ready"), ready_file=folder / "mark")
    sys.exit(supervisor.run())
"""


class Supervised:
    """A running script of parts."""

    def __init__(self, folder: Path, script: str) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-c", PREAMBLE + textwrap.dedent(script), str(folder)],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )

    def said(self) -> list[str]:
        """The sentences so far."""
        path = self.folder / "said"
        return path.read_text().splitlines() if path.exists() else []

    def end(self, number: int = signal.SIGTERM) -> int:
        """End it."""
        self.process.send_signal(number)
        return self.process.wait(timeout=60)


@pytest.fixture
def supervise(tmp_path):
    """Start a script of parts; it is gone after the test."""
    started = []

    def start(script: str) -> Supervised:
        started.append(Supervised(tmp_path, script))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.process.wait()


def test_a_part_that_dies_at_once_is_tried_less_and_less_often(supervise):
    """It is told each time, and the pauses grow, so that a broken part does not eat the machine."""
    running = supervise('run(Part("broken", lambda ready: sys.exit(3)))')
    wait_until(lambda: len(running.said()) >= 4)
    told = [message.rpartition(" again ")[2] for message in running.said()[:4]]
    assert told == ["now.", "in 1 s.", "in 2 s.", "in 4 s."]
    assert running.end() == 0


def test_a_part_that_does_not_end_is_killed(supervise):
    """Ctrl-C ends a part that ignores it, after its grace time, and says so."""
    running = supervise("""
        def stubborn(ready):
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            ready()
            while True:
                time.sleep(1)
        run(Part("stubborn", stubborn, grace_seconds=0.2))
    """)
    wait_until(lambda: "ready" in running.said())
    assert running.end(signal.SIGINT) == 0
    assert running.said()[-1] == "stubborn did not end in time and is killed."


def test_a_second_ctrl_c_does_not_wait(supervise):
    """Somebody in a hurry presses twice: the grace time is over at once."""
    running = supervise("""
        def stubborn(ready):
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            ready()
            while True:
                time.sleep(1)
        run(Part("stubborn", stubborn, grace_seconds=600))
    """)
    wait_until(lambda: "ready" in running.said())

    def is_killed() -> bool:
        # Signals sent at once may arrive as one.
        running.process.send_signal(signal.SIGINT)
        return any("is killed" in message for message in running.said())

    wait_until(is_killed)
    assert running.process.wait(timeout=60) is not None


def test_what_a_part_started_dies_with_it(supervise, tmp_path):
    """A program that a killed part had started does not work on beside its successor."""
    running = supervise("""
        def parent(ready):
            child = subprocess.Popen(["sleep", "600"])
            (folder / "child").write_text(str(child.pid))
            (folder / "parent").write_text(str(os.getpid()))
            stay(ready)
        run(Part("parent", parent))
    """)
    wait_until(lambda: "ready" in running.said())
    child = int((tmp_path / "child").read_text())
    os.kill(int((tmp_path / "parent").read_text()), signal.SIGKILL)

    def is_dead() -> bool:
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            return True
        return Path(f"/proc/{child}/stat").read_text().split()[2] == "Z"

    wait_until(is_dead)


def test_parts_start_after_and_end_before_those_they_use(supervise, tmp_path):
    """The lower layer is ready before the upper starts, and there until the upper has ended."""
    running = supervise("""
        def noted(name):
            def part(ready):
                say(f"{name} starts")
                signal.signal(signal.SIGTERM, lambda *_: (say(f"{name} ends"), os._exit(0)))
                ready()
                while True:
                    signal.pause()
            return part
        run(Part("upper", noted("upper"), layer=1), Part("lower", noted("lower"), layer=0))
    """)
    wait_until(lambda: "ready" in running.said())
    assert (tmp_path / "mark").exists()
    running.end()
    assert running.said() == ["lower starts", "upper starts", "ready", "upper ends", "lower ends"]
    assert not (tmp_path / "mark").exists()


def test_the_mark_is_gone_while_a_part_is(supervise, tmp_path):
    """A container's health check sees that a part is missing."""
    running = supervise("""
        def once(ready):
            if (folder / "seen").exists():
                signal.pause()
            (folder / "seen").touch()
            (folder / "pid").write_text(str(os.getpid()))
            stay(ready)
        run(Part("once", once))
    """)
    wait_until((tmp_path / "mark").exists)
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    wait_until(lambda: not (tmp_path / "mark").exists())
    assert running.end() == 0
