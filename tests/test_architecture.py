"""The rules of docs/architecture.md that can be checked over the source."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("jenny", "memory", "wikis", "settings_ui")
SHELLS = frozenset(
    [
        "apps",
        "models",
        "admin",
        "forms",
        "views",
        "urls",
        "signals",
        "tasks",
        "middleware",
        "access",
        "settings",
        "celery",
        "asgi",
        "wsgi",
        "migrations",
        "templatetags",
        "management",
        "services",
        "runtime",
    ]
)
FORBIDDEN_NAMES = frozenset(["utils", "helpers", "common", "misc", "manager"])
MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 60
MAX_POSITIONAL = 5
# Tables of data, which may be longer, with what they are a table of.
TABLES: dict[str, str] = {}

# Modules without such a name that need a framework, with what they need.
NOT_PLAIN = {
    "jenny.broker": "the connection to Redis",
    "jenny.chat.stream": "the client of Redis",
    "jenny.db_connections": "the connection to the database",
}
# Classes that belong into ``models``, by the end of a base's name.
MODEL_BASES = ("Model", "Manager", "QuerySet", "AbstractUser", "AbstractBaseUser")


def sources() -> Iterator[Path]:
    """Every module of the product, migrations aside, relative to the project."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            relative = path.relative_to(ROOT)
            if "migrations" not in relative.parts:
                yield relative


def names_of(path: Path) -> list[str]:
    """The parts of a module's dotted name."""
    parts = list(path.with_suffix("").parts)
    return parts[:-1] if parts[-1] == "__init__" else parts


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse((ROOT / path).read_text())


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function and method of a module."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def test_plain_modules_are_named_as_such():
    """Every module outside Django's standard places is plain, and import-linter checks it."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = settings["tool"]["importlinter"]["contracts"]
    plain = next(one for one in contracts if one["name"].startswith("Plain packages"))
    missing = []
    for path in sources():
        parts = names_of(path)
        name = ".".join(parts)
        is_listed = any(f"{name}.".startswith(f"{one}.") for one in plain["source_modules"])
        is_package = path.name == "__init__.py"
        if not (is_package or is_listed or SHELLS & set(parts) or name in NOT_PLAIN):
            missing.append(name)
    assert missing == []


def test_imports_point_down():
    """The contracts of import-linter hold: layers, siblings, plain packages."""
    done = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "0 broken" in done.stdout


def test_files_and_functions_are_short():
    """A file about one subject has at most 500 lines, a function at most 60."""
    long_files = {
        str(path): lines
        for path in sources()
        if (lines := len((ROOT / path).read_text().splitlines())) > MAX_FILE_LINES
        and str(path) not in TABLES
    }
    assert long_files == {}
    long_functions = {
        f"{path}:{node.lineno} {node.name}": lines
        for path in sources()
        for node in functions(path)
        if (lines := (node.end_lineno or 0) - node.lineno + 1) > MAX_FUNCTION_LINES
    }
    assert long_functions == {}


def test_few_parameters_are_positional():
    """At most five parameters may be given by position."""
    many = {}
    for path in sources():
        for node in functions(path):
            given = [arg.arg for arg in (*node.args.posonlyargs, *node.args.args)]
            count = len([name for name in given if name not in {"self", "cls"}])
            if count > MAX_POSITIONAL:
                many[f"{path}:{node.lineno} {node.name}"] = count
    assert many == {}


def test_no_module_has_a_catch_all_name():
    """A module is named for its subject, never ``utils`` or ``helpers``."""
    catch_all = [str(path) for path in sources() if FORBIDDEN_NAMES & set(names_of(path))]
    assert catch_all == []


def test_imports_stand_at_the_top():
    """An import inside a function has a comment with its reason, and never avoids a cycle."""
    hidden = []
    for path in sources():
        lines = (ROOT / path).read_text().splitlines()
        for function in functions(path):
            for node in ast.walk(function):
                if isinstance(node, ast.Import | ast.ImportFrom):
                    around = lines[node.lineno - 2 : node.end_lineno]
                    has_reason = any("#" in line for line in around)
                    if not has_reason or "circ" in " ".join(around):
                        hidden.append(f"{path}:{node.lineno}")
    assert hidden == []


def test_no_private_constant_is_left_over():
    """What nobody reads any more goes with the code that read it."""
    unread = []
    for path in sources():
        text = path.read_text()
        for node in top_level(path):
            if not isinstance(node, ast.Assign):
                continue
            names = [one.id for one in node.targets if isinstance(one, ast.Name)]
            unread += [
                f"{path}: {name}"
                for name in names
                if re.match("_[A-Z]", name) and len(re.findall(rf"\b{name}\b", text)) == 1
            ]
    assert unread == []


def test_the_root_package_is_empty():
    """``import jenny.workspace`` loads nothing else of the product."""
    assert (ROOT / "jenny" / "__init__.py").read_text() == ""


# --- Standard places -------------------------------------------------------------------------


def top_level(path: Path) -> list[ast.stmt]:
    return parsed(path).body


def decorators(node: ast.FunctionDef) -> set[str]:
    """Names of a function's decorators, of methods the last part."""
    calls = [one.func if isinstance(one, ast.Call) else one for one in node.decorator_list]
    return {getattr(one, "attr", getattr(one, "id", "")) for one in calls}


def test_tasks_hold_tasks():
    """``tasks.py`` has tasks and signal handlers only; the work is in a service."""
    others = [
        f"{path}:{node.lineno}"
        for path in sources()
        if path.name == "tasks.py" or "tasks" in path.parts
        for node in top_level(path)
        if isinstance(node, ast.ClassDef)
        or (isinstance(node, ast.FunctionDef) and not decorators(node) & {"shared_task", "connect"})
    ]
    assert others == []


def test_management_holds_commands():
    """``management`` has commands only, and each is one."""
    others = []
    for path in sources():
        if "management" not in path.parts or path.name == "__init__.py":
            continue
        classes = {node.name for node in top_level(path) if isinstance(node, ast.ClassDef)}
        if path.parent.name != "commands" or "Command" not in classes:
            others.append(str(path))
    assert others == []


def test_models_hold_models():
    """Each module of ``models`` defines a model, a manager or a query set."""
    modules = [path for path in sources() if "models" in path.parts and path.name != "__init__.py"]
    classes = {
        path: [node for node in top_level(path) if isinstance(node, ast.ClassDef)]
        for path in modules
    }
    # An abstract model may stand in a module of its own.
    known = {node.name for found in classes.values() for node in found if node.bases}
    others = [
        str(path)
        for path, found in classes.items()
        if not any(
            name in known or name.endswith(MODEL_BASES)
            for node in found
            for name in (ast.unparse(base).partition("[")[0] for base in node.bases)
        )
    ]
    assert others == []


def test_every_path_that_the_documents_name_exists():
    """docs/architecture.md leads to files that are there."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    # In its tables a path stands in backquotes; <area> and … are placeholders.
    named = re.findall(
        r"`((?:jenny|memory|wikis|settings_ui|templates|static|docs|tests)/[^`]*)`", text
    )
    plain = [name for name in named if not set("<>…*{") & set(name)]
    assert len(plain) > 60
    assert [name for name in plain if not (ROOT / name).exists()] == []
