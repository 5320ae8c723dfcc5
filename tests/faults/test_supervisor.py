"""The supervisor keeps its word: parts come back, die with it, and end together."""

import os
import signal
import subprocess
import sys
import urllib.request

import psutil

from tests.support.stack import ROOT, clean_environment, manage
from tests.support.waiting import free_port, wait_until

PARTS = {"valkey", "web", "chat", "memory", "maintenanc", "maintenance", "beat"}


def health(url: str) -> int:
    """The status of the readiness page; 0 when nothing answers."""
    try:
        with urllib.request.urlopen(f"{url}/health/ready", timeout=5) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


def test_all_parts_run_and_end_together(start_stack):
    """Ctrl-C ends everything: no process of it is left, and it says so with code 0."""
    stack = start_stack()
    pids = stack.pids()
    assert set(pids) <= PARTS
    assert len(pids) == 6
    assert health(stack.url) == 200
    assert stack.end(signal.SIGINT) == 0
    assert stack.said()[-1]["message"] == "Stopped."
    assert not any(psutil.pid_exists(pid) for pid in pids.values())
