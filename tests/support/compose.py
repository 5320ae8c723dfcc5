"""The services of docker-compose.yml, run as processes on this machine.

What is taken from the files: each service's command, environment and health check; from the
Dockerfile which files and which packages the image holds.
"""

import importlib.metadata
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from jenny.runtime import valkey
from tests.support.stack import ROOT, clean_environment
from tests.support.waiting import wait_until

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
DOCKERFILE = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")


def filled(text: str) -> str:
    """*text* as compose reads it when no variable is set: ``${NAME:-default}`` is its default."""
    return re.sub(r"\$\{[A-Z_]+:-([^}]*)\}", r"\1", text)


def locked(file: str) -> set[str]:
    """Names of the packages of a requirements file."""
    found = re.findall(r"^([A-Za-z0-9_.-]+)==", (ROOT / file).read_text(), re.MULTILINE)
    return {re.sub(r"[-_.]+", "-", name).lower() for name in found}


def hide_test_packages(folder: Path) -> None:
    """Make *folder* one that, on the path, hides every package that the image does not have."""
    left_out = locked("requirements-dev.txt") - locked("requirements.txt")
    modules = sorted(
        module
        for module, owners in importlib.metadata.packages_distributions().items()
        if {re.sub(r"[-_.]+", "-", owner).lower() for owner in owners} <= left_out
    )
    assert "pytest" in modules
    (folder / "sitecustomize.py").write_text(
        "import sys\n"
        f"HIDDEN = frozenset({modules!r})\n"
        "class Hide:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] in HIDDEN:\n"
        "            raise ModuleNotFoundError(f'{name} is not in the image', name=name)\n"
        "sys.meta_path.insert(0, Hide())\n"
    )


def build_image(folder: Path) -> Path:
    """Lay the image's files out in *folder*/app as the Dockerfile does; returns that path."""
    app = folder / "app"
    app.mkdir(parents=True)
    hide_test_packages(folder)
    for line in re.findall(r"^COPY (.+)$", DOCKERFILE, re.MULTILINE):
        *froms, to = line.split()
        for name in froms:
            source, target = ROOT / name, app / to
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, target / name if target.is_dir() else target)
    for words in re.findall(r"python manage\.py (.+?)(?: &&|$)", DOCKERFILE, re.MULTILINE):
        environment = clean_environment(
            JENNY_DATA_DIR=str(folder / "build"), PYTHONPATH=str(folder)
        )
        command = [sys.executable, "manage.py", *shlex.split(words)]
        subprocess.run(command, cwd=app, env=environment, check=True)
    return app


def skewed_clock(folder: Path, seconds: int) -> dict[str, str]:
    """Environment of a process whose clock is *seconds* ahead."""
    library = folder / "skew.so"
    if not library.exists():
        compiler = shutil.which("cc") or shutil.which("gcc")
        assert compiler, "a C compiler is needed to set the clock of a single process"
        source = ROOT / "tests" / "support" / "skew.c"
        subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return {"LD_PRELOAD": str(library), "JENNY_TEST_SKEW": str(seconds)}


@dataclass
class Service:
    """One container's process."""

    name: str
    process: subprocess.Popen[bytes]
    output: Path
    folder: Path
    environment: dict[str, str]

    def said(self) -> str:
        """What it printed so far."""
        return self.output.read_text()

    def kill(self) -> None:
        """The container is gone at once, with all that ran in it."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def health(self) -> int:
        """The exit code of its health check, as the compose file or the image tells it."""
        check = COMPOSE["services"][self.name].get("healthcheck")
        if check:
            words = [word.replace("/tmp/", f"{self.folder}/tmp/") for word in check["test"][1:]]
        else:
            found = re.search(r"^HEALTHCHECK .*?CMD (\[.+\])$", DOCKERFILE, re.MULTILINE)
            assert found
            words = json.loads(found[1])
            words[0] = sys.executable
        return subprocess.run(
            words, env=self.environment, check=False, capture_output=True
        ).returncode


@dataclass
class Composition:
    """All services together; ``hosts`` maps what compose names to where it is here."""

    folder: Path
    hosts: dict[str, str]
    services: list[Service] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.app = build_image(self.folder / "image")

    def environment(self, name: str, **changes: str) -> dict[str, str]:
        """The environment of a service, as the compose file gives it."""
        given = {
            key: filled(str(value))
            for key, value in COMPOSE["services"][name].get("environment", {}).items()
        }
        for key, value in given.items():
            for there, here in self.hosts.items():
                value = value.replace(there, here)  # noqa: PLW2901 -- one host after the other
            given[key] = value
        return given | changes

    def start(self, name: str, **changes: str) -> Service:
        """Start one more process of a service."""
        number = len(self.services)
        folder = self.folder / f"{name}{number}"
        (folder / "tmp").mkdir(parents=True)
        environment = clean_environment(
            **self.environment(name), TMPDIR=str(folder / "tmp"), PYTHONPATH=str(self.app.parent)
        )
        environment |= changes
        command = [*COMPOSE["services"][name]["command"]]
        assert command[0] == "python"
        command[0] = sys.executable
        output = folder / "output"
        with output.open("wb") as out:
            process = subprocess.Popen(
                command, cwd=self.app, env=environment, stdout=out, stderr=out
            )
        service = Service(name, process, output, folder, environment)
        self.services.append(service)
        return service

    def wait(self) -> None:
        """Return once every service is healthy."""
        for service in self.services:

            def is_healthy(service: Service = service) -> bool:
                assert service.process.poll() is None, service.said()
                return service.health() == 0

            wait_until(is_healthy, 180, f"{service.name} to be healthy")

    def end(self) -> list[int]:
        """End all services as ``docker compose stop`` does; exit codes of those still there."""
        left = [service for service in self.services if service.process.poll() is None]
        for service in left:
            service.process.terminate()
        return [service.process.wait(timeout=90) for service in left]


def start_redis(folder: Path, port: int) -> subprocess.Popen[bytes]:
    """The redis service's command, with this machine's server."""
    words = [*COMPOSE["services"]["redis"]["command"]]
    assert words[0] == "valkey-server"
    words[0] = (
        shutil.which("valkey-server") or shutil.which("redis-server") or str(valkey.find_program())
    )
    folder.mkdir()
    return subprocess.Popen(
        [*words, "--port", str(port), "--dir", str(folder), "--bind", "127.0.0.1"],
        stdout=subprocess.DEVNULL,
        env=os.environ,
    )
