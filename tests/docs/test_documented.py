"""What the documents promise is there, and what is there is documented."""

import ast
import inspect
import itertools
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from jenny import env
from jenny.agent.provider import OPTIONAL
from jenny.chat.services.commands import COMMANDS, usage
from jenny.chat.tools import TOOLS
from jenny.workspace.config.fields import FIELDS
from tests.support.stack import ROOT, clean_environment
from tests.test_architecture import sources

SETTINGS = (ROOT / "docs" / "settings.md").read_text()
COMMAND_LINE = (ROOT / "docs" / "commands.md").read_text()
READERS = frozenset(name for name, _ in inspect.getmembers(env, inspect.isfunction))
# Names that the environment gives and nobody sets for Jenny.
NOT_OURS = {"TMPDIR", "REMOTE_ADDR"}


def variables() -> Iterator[tuple[str, bool]]:
    """Every environment variable that the source reads, and whether it may come from a file."""
    for path in sources():
        for node in ast.walk(ast.parse((ROOT / path).read_text())):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            first = node.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                known = name in READERS or name in {"getenv", "get"}
                if known and re.fullmatch(r"[A-Z][A-Z0-9_]{4,}", first.value):
                    yield first.value, name == "secret"


def row(field) -> str:
    """How docs/settings.md tells of a key of config.json."""
    if field.default is None or field.default == "":
        default = "empty"
    else:
        default = f"`{str(field.default).lower()}`"
    return f"| `{field.key}` | {default} | {field.range} | {field.help} |"


def test_every_variable_is_documented():
    """Each variable stands in docs/settings.md and .env.example, and none there is invented."""
    read = {name for name, _ in variables()} - NOT_OURS
    assert {"JENNY_PORT", "DATABASE_URL", "ANTHROPIC_API_KEY"} <= read
    told = set(re.findall(r"^\| `([A-Z][A-Z0-9_]+)`", SETTINGS, re.MULTILINE))
    # For commands that ask for a password, and for compose's own database.
    example = {"JENNY_OWNER_PASSWORD", "JENNY_ACCOUNT_PASSWORD", "POSTGRES_PASSWORD"}
    example |= {"JENNY_BACKUP_PASSPHRASE"}
    assert told - example == read - example
    sample = set(
        re.findall(r"^#?([A-Z][A-Z0-9_]+)=", (ROOT / ".env.example").read_text(), re.MULTILINE)
    )
    assert sample - example == read - example


def test_secrets_can_come_from_files():
    """Each variable that is read as a secret is told to take ``_FILE``, and no other is."""
    secrets = {name for name, is_secret in variables() if is_secret}
    assert "ANTHROPIC_API_KEY" in secrets
    for line in SETTINGS.splitlines():
        found = re.match(r"\| `([A-Z][A-Z0-9_]+)`", line)
        if found:
            assert ("`_FILE`" in line) == (found[1] in secrets), line


def test_every_part_of_a_request_that_may_be_left_out_is_documented():
    """docs/settings.md tells of each fallback, and of no other."""
    told = re.search(r"^\| refused \|.*?\n\n", SETTINGS, re.MULTILINE | re.DOTALL)
    assert told
    names = re.findall(r"^\| (\w+) \|", told[0], re.MULTILINE)
    assert sorted(names[1:]) == sorted([*OPTIONAL, "max_tokens"])


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.key)
def test_every_setting_is_documented(field):
    """Each key of config.json is told with its default, its range and what it does."""
    assert row(field) in SETTINGS


def test_no_setting_is_invented():
    """Each key that docs/settings.md names exists."""
    told = set(re.findall(r"^\| `([a-z][A-Za-z.*]+)` ", SETTINGS, re.MULTILINE))
    assert told == {field.key for field in FIELDS}


def test_every_slash_command_is_documented():
    """Each command of the chat stands in docs/commands.md as the palette has it."""
    told = set(re.findall(r"^\| `(/[^`]+)` \| (.+) \|$", COMMAND_LINE, re.MULTILINE))
    told = {(written.replace("\\|", "|"), words) for written, words in told}
    assert told == {(usage(command), command.help) for command in COMMANDS}


def management_commands() -> set[str]:
    """Names of the product's own ``manage.py`` commands."""
    return {
        path.stem
        for path in sources()
        if path.parent.name == "commands"
        and path.parent.parent.name == "management"
        and path.stem != "__init__"
    }


def test_every_command_is_documented():
    """Each ``manage.py`` command of ours stands in docs/commands.md, and none is invented."""
    section = COMMAND_LINE.partition("## In a terminal")[2].partition("\n## ")[0]
    told = set(re.findall(r"^\| `([a-z_]+)[^`/]*` \|", section, re.MULTILINE))
    assert told == management_commands()


def test_every_tool_is_documented():
    """Each tool of the model stands in docs/commands.md."""
    for tool in TOOLS:
        assert f"| `{tool}` |" in COMMAND_LINE


@pytest.mark.parametrize("name", sorted(management_commands()))
def test_every_command_explains_itself(name, tmp_path):
    """``--help`` answers for each command and offers ``--json``."""
    done = subprocess.run(
        [sys.executable, ROOT / "manage.py", name, "--help"],
        env=clean_environment(JENNY_DATA_DIR=str(tmp_path)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "--json" in done.stdout


def shown_commands() -> Iterator[tuple[str, list[str]]]:
    """Each command line in a code block of the documents, with the document's name."""
    for document in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for block in re.findall(
            r"```(?:sh|console|bash)\n(.*?)```", document.read_text(), re.DOTALL
        ):
            for line in block.replace("\\\n", " ").splitlines():
                words = shlex.split(line, comments=True)
                if words:
                    yield document.name, words


def test_commands_of_the_documents_exist():
    """What a reader is told to type is there: make's targets, compose's services, our commands."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    seen = 0
    for document, line in shown_commands():
        words = list(itertools.dropwhile(re.compile(r"[A-Z_]+=.*").fullmatch, line))
        seen += 1
        if words[0] == "make":
            assert set(words[1:]) <= targets, (document, words)
        elif "manage.py" in " ".join(words):
            after = next(index for index, word in enumerate(words) if word.endswith("manage.py"))
            assert words[after + 1] in management_commands() | {"help"}, (document, words)
        elif words[:2] == ["docker", "compose"] and words[2] in {"logs", "exec", "restart"}:
            service = next(word for word in words[3:] if not word.startswith("-"))
            assert service in compose["services"], (document, words)
    assert seen > 3


def test_every_dependency_says_why():
    """Each package that the project names has its reason in docs/decisions."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    named = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
    told = " ".join(path.read_text() for path in (ROOT / "docs" / "decisions").glob("*.md"))
    missing = [
        name
        for line in named
        if (name := re.split(r"[\[<>=;! ]", line)[0]) and f"`{name}`" not in told
    ]
    assert missing == []


def documents() -> list[Path]:
    """Every Markdown document of the project."""
    return [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("document", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_links_of_the_documents_lead_somewhere(document):
    """Each relative link names a file or folder that is there; what stands in code is none."""
    text = re.sub(r"`[^`\n]*`", "", document.read_text())
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        if not target.startswith(("http:", "https:", "mailto:")):
            assert (document.parent / target).exists(), target
