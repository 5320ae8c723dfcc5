"""The peer: a public package in its own environment, driven by ``peer_nanobot`` inside of it."""

import json
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any, Self

PACKAGE = "nanobot-ai"
VERSION = "0.3.5"
HOME = Path(__file__).with_name(".peers") / "nanobot"


def python() -> Path:
    """The peer's interpreter; installs the package when it is not there (once, some minutes)."""
    program = HOME / "bin" / "python"
    mark = HOME / f"{PACKAGE}-{VERSION}"
    if not mark.exists():
        print(f"installing {PACKAGE} {VERSION} into {HOME} …", flush=True)
        venv.create(HOME, clear=True, with_pip=True)
        _run([str(program), "-m", "pip", "install", "-q", f"{PACKAGE}=={VERSION}"])
        _run([str(program), "-m", "compileall", "-q", str(HOME / "lib")], check=False)
        mark.touch()
    return program


def version() -> str:
    """The version that is installed."""
    code = f"import importlib.metadata as m; print(m.version({PACKAGE!r}))"
    done = subprocess.run([python(), "-c", code], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def configuration(workspace: Path, model_url: str, websocket_port: int = 0) -> dict[str, Any]:
    """What a user of the peer would write to ask a model at *model_url*."""
    found: dict[str, Any] = {
        "agents": {
            "defaults": {
                "workspace": str(workspace),
                "model": "anthropic/scripted-model",
                "provider": "anthropic",
            }
        },
        "providers": {"anthropic": {"apiKey": "sk-bench", "apiBase": model_url}},
    }
    if websocket_port:
        found["channels"] = {"websocket": {"port": websocket_port}}
    return found


class Peer:
    """A process of the peer that does one thing after another; a context manager."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._process = subprocess.Popen(
            [python(), str(Path(__file__).with_name("peer_nanobot.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=(scratch / "peer.log").open("wb"),
            env=environment(scratch),
            cwd=scratch,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.stdin:
            self._process.stdin.close()
        self._process.wait(timeout=20)

    def ask(self, do: str, **words: Any) -> Any:
        """Have it do something; what it answers."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps({"do": do, **words}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError((self._scratch / "peer.log").read_text()[-3000:])
        return json.loads(line)


def environment(home: Path) -> dict[str, str]:
    """A process's environment in which the peer finds nobody's settings."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    return {**kept, "HOME": str(home), "NO_PROXY": "127.0.0.1,localhost"}


def _run(words: list[str], *, check: bool = True) -> None:
    subprocess.run(words, check=check, stdout=sys.stderr)
