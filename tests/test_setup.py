"""``make setup`` on machines of several kinds: what it finds, does, and leaves alone."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.stack import ROOT

# What the script may use beside a Python; the test's PATH has nothing else.
TOOLS = (
    "sh", "awk", "cat", "cksum", "dirname", "find", "head", "mktemp", "mv", "rm", "tr",
)  # fmt: skip

# Stands for manage.py: notes that it was called, and does what collectstatic would.
MANAGE = """
import pathlib, sys
pathlib.Path("build/static").mkdir(parents=True, exist_ok=True)
pathlib.Path("build/static/staticfiles.json").write_text("{}")
with open("calls", "a") as calls:
    calls.write(" ".join(sys.argv[1:3]) + "\\n")
"""


@pytest.fixture
def project(tmp_path) -> Path:
    """A project with the real set-up and no packages to install."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "setup", tmp_path / ".ci" / "setup")
    for name in ("jenny", "memory", "wikis", "settings_ui", "static", "bin"):
        (tmp_path / name).mkdir()
    (tmp_path / "manage.py").write_text(MANAGE)
    (tmp_path / ".python-version").write_text("{}.{}\n".format(*sys.version_info))
    (tmp_path / "requirements.txt").write_text("# nothing\n")
    (tmp_path / "requirements-dev.txt").write_text("# nothing either\n")
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found, tool
        (tmp_path / "bin" / tool).symlink_to(found)
    return tmp_path


def setup(project: Path, mode: str = "run", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the set-up with nothing on the PATH but ``bin``."""
    return subprocess.run(
        [project / "bin" / "sh", project / ".ci" / "setup", mode],
        env={"PATH": str(project / "bin"), "HOME": str(project), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def pyenv(project: Path) -> str:
    """A pyenv root that has this Python."""
    version = project / "pyenv" / "versions" / "{}.{}.{}".format(*sys.version_info) / "bin"
    version.mkdir(parents=True)
    (version / "python").symlink_to(os.path.realpath(sys.executable))
    return str(project / "pyenv")


def test_without_a_python_it_says_what_to_install(project):
    """Nothing is made, and the sentence names the version and three ways to get it."""
    done = setup(project)
    assert done.returncode != 0
    assert "No Python 3.12 or newer" in done.stderr
    assert "pyenv" in done.stderr
    assert "uv" in done.stderr
    assert not (project / ".venv").exists()


def test_an_old_python_is_passed_over(project):
    """A Python that is too old is not used, although it is the first on the PATH."""
    (project / "bin" / "python3").write_text("#!/bin/sh\nexit 1\n")
    (project / "bin" / "python3").chmod(0o755)
    assert "No Python 3.12 or newer" in setup(project).stderr


def test_the_second_time_costs_nothing(project):
    """Found by pyenv and set up once, bytecode included, also on machines that write none by
    themselves; later only what changed is done again, and tests' packages serve for running."""
    (project / "jenny" / "module.py").write_text("x = 1\n")
    root = pyenv(project)
    first = setup(project, "dev", PYENV_ROOT=root, PYTHONDONTWRITEBYTECODE="1")
    assert first.returncode == 0, first.stderr
    assert "Installing" in first.stdout
    assert (project / "calls").read_text() == "collectstatic --noinput\n"
    assert list((project / "jenny" / "__pycache__").glob("module.*.pyc"))

    again = setup(project, "dev", PYENV_ROOT=root)
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
    assert "Installing" not in setup(project, "run", PYENV_ROOT=root).stdout

    calls = (project / "calls").read_text().count("collectstatic")
    (project / "static" / "new.css").write_text("a {}")
    os.utime(project / ".venv" / ".built", (1, 1))
    assert "Installing" not in setup(project, PYENV_ROOT=root).stdout
    assert (project / "calls").read_text().count("collectstatic") == calls + 1

    for lock in ("requirements.txt", "requirements-dev.txt"):
        (project / lock).write_text("# changed\n")
    assert "Installing" in setup(project, PYENV_ROOT=root).stdout


def test_the_script_that_draws_diagrams_is_the_published_one() -> None:
    """It comes from a package of few users: it is byte for byte ``dist/mermaid.min.js`` of
    mermaid 11.16.0, as the npm registry has it."""
    from django.conf import settings
    from django.contrib.staticfiles import finders

    path = finders.find(settings.JENNY_MERMAID)
    assert path
    published = "74d7c46dabca328c2294733910a8aa1ed0c37451776e8d5295da38a2b758fb9b"
    assert hashlib.sha256(Path(path).read_bytes()).hexdigest() == published
