"""Nobody gets in: every route by every method, as a stranger, as another account, from another
site. The routes are read from the URL configuration, so that a new one is covered from its
first day."""

import datetime as dt
import json
from collections.abc import Iterator
from typing import Any

import django
import pytest

# So that routes and models can be loaded; tests/conftest.py has set the environment.
django.setup()

from django.apps import apps  # noqa: E402
from django.conf import settings  # noqa: E402
from django.test import Client  # noqa: E402
from django.urls import URLPattern, URLResolver, get_resolver  # noqa: E402

from jenny.accounts import access, connections  # noqa: E402
from jenny.accounts.models import Account, ApiKey, Job, LoginSession  # noqa: E402
from jenny.chat.models import (  # noqa: E402
    Attachment,
    ConsentRequest,
    Conversation,
    Draft,
    Message,
    Turn,
)
from jenny.workspace import trash  # noqa: E402
from jenny.workspace.files import Actor, open_workspace  # noqa: E402
from jenny.workspace.versions.commits import commit_pending  # noqa: E402
from memory.models import DreamRun, StagedHunk  # noqa: E402
from memory.services import snapshots  # noqa: E402
from tests.support.stack import PASSWORD  # noqa: E402

pytestmark = pytest.mark.django_db
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
# Stands in all that is Ana's; NAME is what others may know and try.
MARK = "ana-only-4711"
NAME = "anas-preset"
# What a stranger may see, on purpose.
OPEN = {
    "login",
    "login_code",
    "health_live",
    "health_ready",
    "metrics",
    "manifest",
    "favicon",
    "offline",
    "worker",
}
# Held by rows that merely note who came; they may differ.
NOTED = {LoginSession}


def routes() -> list[tuple[str, str]]:
    """Every route as (name, template of its path)."""

    def walk(patterns: list[URLPattern | URLResolver], prefix: str) -> Iterator[tuple[str, str]]:
        for one in patterns:
            path = prefix + str(one.pattern)
            if isinstance(one, URLResolver):
                yield from walk(one.url_patterns, path)
            else:
                yield one.name or path, "/" + path

    return list(walk(get_resolver().url_patterns, ""))


ROUTES = routes()


@pytest.fixture
def owned(db: None) -> dict[str, str]:
    """Ana with one of everything; the values that fill the parts of routes."""
    ana = Account.objects.make_owner("ana", PASSWORD, "UTC")
    workspace = ana.current_workspace
    assert workspace is not None
    workspace.make_folder()
    chat = Conversation.objects.create(workspace=workspace, title=MARK)
    message = Message.objects.create(conversation=chat, kind="user", text=MARK)
    now = dt.datetime.now(dt.UTC).replace(microsecond=0)
    Conversation.all_objects.create(workspace=workspace, title=MARK, deleted_at=now)
    Draft.objects.create(account_id=ana.pk, conversation=chat, text=MARK)
    ApiKey.keep(ana, "https://api.anthropic.com", "sk-ant-" + MARK)
    connections.save_preset(workspace.root, NAME, {"model": MARK}, use=True)
    client = Client()
    client.force_login(ana)
    (workspace.root / f"{NAME}.md").write_text(MARK)
    (workspace.root / "wikis" / NAME / "wiki").mkdir(parents=True)
    (workspace.root / "wikis" / NAME / f"wiki/{NAME}.md").write_text(f"# {MARK}")
    (workspace.root / "thrown.md").write_text(MARK)
    files = open_workspace(workspace.root, Actor("browser", account=ana.pk))
    item = trash.move_to_trash(
        files, settings.JENNY_DATA.trash / str(workspace.pk), "thrown.md", now=1
    )
    entry = {"cursor": 1, "timestamp": "2026-01-01 10:00", "content": MARK}
    (workspace.root / "memory/history.jsonl").write_text(json.dumps(entry) + "\n")
    run = DreamRun.objects.create(
        workspace=workspace, trigger="manual", state="ended", status="completed", message=MARK
    )
    piece = {"before": [], "after": [MARK]}
    hunk = StagedHunk.objects.create(
        workspace=workspace, run=run, actor="dream", path="USER.md", kind="add", piece=piece
    )
    turn = Turn.objects.create(conversation=chat)
    attached = Attachment.objects.create(
        workspace=workspace, account=ana, conversation=chat, name=MARK, kind="picture", width=1,
        thumbnail=MARK.encode(), upload="0" * 32,
    )  # fmt: skip
    asked = ConsentRequest.objects.create(
        workspace=workspace, turn=turn, path="AGENTS.md", after=MARK.encode()
    )
    return {
        "workspace_id": str(workspace.pk),
        "request_id": str(asked.pk),
        "run_id": str(run.pk),
        "hunk_id": str(hunk.pk),
        "cursor": "1",
        "snapshot_id": snapshots.take_snapshot(workspace, "manual", label=MARK).snapshot.id,
        "version_id": (sha := commit_pending(workspace.root).versions[-1].sha),
        "sha": sha,
        # Of the operator's pages: an app, and a row.
        "app_label": "chat",
        "object_id": str(chat.pk),
        "job_id": str(Job.ask(workspace, ana, "restore", {"path": MARK}).pk),
        "path": f"{NAME}.md",
        "item_id": item.id,
        "conversation_id": str(chat.pk),
        "batch": str(int(now.timestamp()) * 1_000_000),
        "message_id": str(message.pk),
        "attachment_id": str(attached.pk),
        "ending": "md",
        "ids": str(message.pk),
        "turn_id": str(turn.pk),
        "session_id": str(LoginSession.objects.get().pk),
        "key_id": str(ApiKey.objects.get().pk),
        "name": NAME,
    }


def filled(template: str, values: dict[str, str]) -> str:
    """The path with Ana's things in it."""
    for name, value in values.items():
        for kind in ("uuid", "int", "str", "path", "slug"):
            template = template.replace(f"<{kind}:{name}>", value)
    assert "<" not in template, f"{template}: say in `owned` what fills it"
    return template


def everything() -> dict[str, list[dict[str, Any]]]:
    """All rows that are not just notes of visits, and Ana's settings."""
    rows = {
        model.__name__: sorted(model._base_manager.values(), key=str)
        for label in ("accounts", "chat")
        for model in apps.get_app_config(label).get_models()
        if model not in NOTED
    }
    for row in rows["Account"]:
        del row["last_login"]
    ana = Account.objects.get(username="ana")
    assert ana.current_workspace is not None
    config = (ana.current_workspace.root / "config.json").read_text()
    return rows | {"config": [{"text": config}]}


@pytest.mark.parametrize("method", METHODS)
def test_a_stranger_sees_nothing(owned: dict[str, str], method: str) -> None:
    """Without a session there is the login, and what is open on purpose; nothing changes."""
    before = everything()
    for name, template in ROUTES:
        path = filled(template, owned)
        answer = Client().generic(method, path, headers={"Sec-Fetch-Site": "same-origin"})
        assert answer.status_code < 500 or name == "health_ready", f"{method} {path}"
        if name not in OPEN:
            assert answer.status_code in {302, 303, 404, 405}, f"{method} {path}"
            assert MARK not in answer.text, f"{method} {path}"
            if answer.status_code in {302, 303}:
                assert answer["Location"].startswith("/login/?next="), f"{method} {path}"
    assert everything() == before


# The event source lets go of its connection to the database, and a transaction with it.
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("method", METHODS)
def test_another_account_sees_nothing_of_it(owned: dict[str, str], method: str) -> None:
    """What belongs to somebody else is not there: 404 for it, and no trace of it anywhere."""
    bo = Account.objects.make_account("bo", PASSWORD, "UTC")
    before = everything()
    client = Client(raise_request_exception=False)
    for name, template in ROUTES:
        path = filled(template, owned)
        if not access.session_is_live(client.session.session_key or ""):
            client.force_login(bo)
        answer = client.generic(
            method,
            path,
            "name=" + NAME,
            content_type="application/x-www-form-urlencoded",
            headers={"Sec-Fetch-Site": "same-origin"},
        )
        where = f"{method} {path}"
        assert answer.status_code < 500 or name == "health_ready", where
        if "<" in template:
            assert answer.status_code in {404, 405}, where
        if not answer.streaming and method != "TRACE":
            assert MARK not in answer.text, where
    after = everything()
    for rows in (before, after):
        # What Bo's own visit made is Bo's.
        rows["Workspace"] = [row for row in rows["Workspace"] if row["owner_id"] != bo.pk]
        rows["Account"] = [row for row in rows["Account"] if row["id"] != bo.pk]
        rows["Job"] = [row for row in rows["Job"] if row["account_id"] != bo.pk]
    assert after == before


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "null"},
        {"Referer": "https://evil.example/"},
        {"Origin": "https://evil.example", "Accept": "application/json"},
        {"Origin": "https://evil.example", "HX-Request": "true"},
        {},
    ],
)
def test_another_site_moves_nothing(owned: dict[str, str], headers: dict[str, str]) -> None:
    """A page elsewhere that posts with Ana's cookies is refused on every route."""
    ana = Account.objects.get()
    client = Client(enforce_csrf_checks=True)
    client.force_login(ana)
    before = everything()
    session = client.session.session_key
    # A form posts; the other methods are a script's, which is answered without a page.
    script = {"Sec-Fetch-Dest": "empty"} | headers
    for _, template in ROUTES:
        for method in ("POST", "PUT", "PATCH", "DELETE"):
            path = filled(template, owned)
            answer = client.generic(
                method,
                path,
                f"text={MARK}&name={NAME}",
                content_type="application/x-www-form-urlencoded",
                headers=headers if method == "POST" else script,
            )
            assert answer.status_code in {403, 404, 405}, f"{method} {path}"
            assert client.session.session_key == session, f"{method} {path}"
    assert everything() == before
    assert LoginSession.objects.filter(session_key=session).exists()
    assert "kept_text" not in client.session


def test_what_is_open_is_marked_so() -> None:
    """The list of open pages above is the code's own: nothing else is, nothing less."""

    def views(patterns: list[Any]) -> Iterator[URLPattern]:
        for one in patterns:
            if isinstance(one, URLResolver):
                yield from views(one.url_patterns)
            else:
                yield one

    marked = {
        one.name
        for one in views(get_resolver().url_patterns)
        if not getattr(one.callback, "login_required", True)
    }
    assert marked == OPEN | {"setup"}


def test_every_page_carries_the_walls(owned: dict[str, str]) -> None:
    """A strict policy without inline scripts or styles, no framing, no sniffing, no referrer."""
    client = Client()
    client.force_login(Account.objects.get())
    for path in (
        "/login/",
        "/chat/",
        "/settings/models/",
        "/settings/account/",
        "/memory/",
        "/nowhere/",
    ):
        for one in (client, Client()):
            answer = one.get(path)
            policy = answer["Content-Security-Policy"]
            assert "default-src 'none'" in policy, path
            assert "unsafe" not in policy, path
            assert answer["X-Content-Type-Options"] == "nosniff", path
            assert answer["X-Frame-Options"] == "DENY", path
            assert answer["Referrer-Policy"] == "same-origin", path
            assert answer["Cross-Origin-Opener-Policy"] == "same-origin", path


def test_cookies_are_out_of_reach(owned: dict[str, str]) -> None:
    """No script reads the session, and no other site's form brings it along."""
    client = Client()
    client.get("/login/")
    answer = client.post("/login/", {"username": "ana", "password": PASSWORD})
    cookie = answer.cookies[settings.SESSION_COOKIE_NAME]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"
    assert dt.timedelta(seconds=int(cookie["max-age"])) == dt.timedelta(days=30)
