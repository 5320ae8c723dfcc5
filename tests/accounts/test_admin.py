"""The operator's pages: Django's admin, to look at."""

from collections.abc import Callable

import pytest
from django.apps import apps
from django.test import Client
from django.urls import reverse

from jenny.accounts.admin import ReadOnly
from jenny.accounts.models import Account, ApiKey, LoginSession, UsageDay, Workspace
from jenny.admin import site
from jenny.chat.models import Conversation, Message, Turn
from memory.models import DreamRun
from tests.support.stack import PASSWORD

HOME = "/operator/"
SAID = "what nobody else should read"


@pytest.fixture
def owner(ana: Account, visitor: Callable[..., Client]) -> Client:
    """The owner's browser."""
    client = visitor()
    client.force_login(ana)
    return client


@pytest.fixture
def rows(ana: Account, bo: Account) -> None:
    """One of each kind, with words of people in it."""
    workspace = bo.current_workspace
    assert workspace is not None
    chat = Conversation.objects.create(workspace=workspace, title=SAID)
    turn = Turn.objects.create(conversation=chat, message=SAID)
    Message.objects.create(conversation=chat, kind=Message.Kind.USER, text=SAID, turn=turn)
    run = DreamRun.begin(workspace, "manual")
    assert run is not None
    DreamRun.objects.filter(pk=run.pk).update(
        entries=[{"reason": SAID}], report={"markdown": SAID}, notes=[SAID], message=SAID, why=SAID
    )
    ApiKey.keep(bo, "https://models.example.org", "sk-bo-000000000000000000")
    UsageDay.objects.create(account=bo, day="2026-01-01", kind="chat", model="m")


def test_only_the_owner_gets_in(owner: Client, bo: Account, visitor: Callable[..., Client]) -> None:
    """A stranger is sent to the login; for another account there is nothing."""
    assert owner.get(HOME).status_code == 200
    other = visitor()
    other.force_login(bo)
    for path in (HOME, f"{HOME}accounts/account/", f"{HOME}chat/", f"{HOME}jsi18n/"):
        assert owner.get(path).status_code == 200
        assert other.get(path).status_code == 404
        assert visitor().get(path)["Location"].startswith("/login/")


def test_every_list_and_row_can_be_looked_at_and_none_written(
    owner: Client, rows: None, ana: Account
) -> None:
    """Nothing that people said, and nothing secret, is on any of them."""
    seen = 0
    for model, about in site._registry.items():
        assert isinstance(about, ReadOnly), model
        name = f"operator:{model._meta.app_label}_{model._meta.model_name}"
        pages = [owner.get(reverse(f"{name}_changelist"))]
        row = model._base_manager.order_by("-pk").first()
        if row is not None:
            pages.append(owner.get(reverse(f"{name}_change", args=[row.pk])))
            seen += 1
            assert owner.post(reverse(f"{name}_change", args=[row.pk]), {}).status_code == 403
            assert owner.post(f"{pages[0].request['PATH_INFO']}{row.pk}/delete/").status_code == 404
        assert owner.get(f"{pages[0].request['PATH_INFO']}add/").status_code == 404
        for page in pages:
            assert page.status_code == 200, model
            assert SAID not in page.text, model
            assert "sk-bo" not in page.text
            assert ana.password not in page.text
            for session in LoginSession.objects.all():
                assert session.session_key not in page.text
    assert seen >= 7


def test_what_holds_secrets_or_words_is_not_there() -> None:
    """Keys, messages and second factors have no page."""
    shown = set(site._registry)
    for label in ("ApiKey", "TwoFactor", "RecoveryCode"):
        assert apps.get_model("accounts", label) not in shown
    assert Message not in shown
    assert Workspace in shown


def test_somebody_is_kept_out_and_let_in(
    owner: Client, ana: Account, bo: Account, visitor: Callable[..., Client]
) -> None:
    """Their sessions end at once; the owner cannot be kept out."""
    other = visitor()
    other.force_login(bo)
    path = f"{HOME}accounts/account/"
    both = {"_selected_action": [ana.pk, bo.pk]}
    answer = owner.post(path, {"action": "keep_out", **both}, follow=True)
    assert "Kept out: 1. The owner cannot be kept out." in answer.text
    assert other.get("/chat/").status_code == 302
    form = {"username": "bo", "password": PASSWORD}
    assert visitor().post("/login/", form).status_code == 422
    assert owner.get("/chat/").status_code == 200
    owner.post(path, {"action": "let_in", **both})
    assert visitor().post("/login/", form).status_code == 302


@pytest.mark.parametrize(
    "path", ["login/", "logout/", "password_change/", "autocomplete/", "r/1/1/"]
)
def test_django_s_own_doors_are_shut(owner: Client, path: str) -> None:
    """They know neither our sessions nor the second factor, and lead past the lists."""
    assert owner.get(HOME + path).status_code == 404
    assert owner.post(HOME + path, {}).status_code == 404
