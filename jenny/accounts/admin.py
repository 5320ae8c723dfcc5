"""The operator's site: the rows of this instance, without anything that people said.

Only the owner sees it. Almost all of it is read-only: changes are made through the pages and
commands, which have the rules for them.
"""

import functools
from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import URLPattern, URLResolver, include, path

from jenny.accounts.models import Account, Job, LoginSession, UpSpan, UsageDay, Workspace

type View = Callable[..., Any]


class OperatorSite(admin.AdminSite):
    """Django's admin, for the owner alone, without its own login, password form and log."""

    site_header = "Jenny: the operator's pages"
    site_title = "Jenny"
    index_title = "What there is on this instance"
    enable_nav_sidebar = False

    def has_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_active and request.user.is_superuser)

    def admin_view(self, view: View, cacheable: bool = False) -> Any:  # noqa: FBT001, FBT002 - Django's signature
        """Answer 404 to everybody but the owner; visitors without login were redirected before."""
        inner = super().admin_view(view, cacheable)

        @functools.wraps(inner)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if not self.has_permission(request):
                raise Http404
            answer: HttpResponse = inner(request, *args, **kwargs)
            return answer

        return guarded

    def get_urls(self) -> list[URLPattern | URLResolver]:
        found: list[URLPattern | URLResolver] = [
            path("", self.admin_view(self.index), name="index"),
            path("jsi18n/", self.admin_view(self.i18n_javascript, cacheable=True), name="jsi18n"),
        ]
        for about in self._registry.values():
            place = f"{about.opts.app_label}/{about.opts.model_name}/"
            found.append(path(place, include(about.urls)))
        app_list = self.admin_view(self.app_index)
        return [*found, path("<slug:app_label>/", app_list, name="app_list")]


class ReadOnly(admin.ModelAdmin):  # type: ignore[type-arg]  # no subscript at run time
    actions: Any = None
    list_per_page = 50
    show_full_result_count = False

    def get_urls(self) -> list[URLPattern]:
        name = f"{self.opts.app_label}_{self.opts.model_name}"
        view = self.admin_site.admin_view
        return [
            path("", view(self.changelist_view), name=f"{name}_changelist"),
            path("<path:object_id>/change/", view(self.change_view), name=f"{name}_change"),
        ]

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Allow everybody whom the site lets in, which is the owner."""
        del obj
        return bool(request.user.is_superuser)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_superuser)

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Refuse: rows are created by the application only."""
        del request, obj
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Refuse: changes are made through the pages and commands."""
        del request, obj
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        del request, obj
        return False


site = OperatorSite(name="operator")


@admin.register(Account, site=site)
class AccountAdmin(ReadOnly):
    """Accounts with two actions: deactivate and reactivate."""

    actions = ("keep_out", "let_in")
    list_display = ("username", "is_active", "is_superuser", "time_zone", "last_login")
    search_fields = ("username",)
    ordering = ("username",)
    fields = (
        "username",
        "is_active",
        "is_superuser",
        "time_zone",
        "date_joined",
        "last_login",
        "max_tokens_per_day",
        "max_cost_per_day",
    )

    @admin.action(description="Keep them out: no login, all sessions end", permissions=["view"])
    def keep_out(self, request: HttpRequest, rows: "QuerySet[Account]") -> None:
        """Deactivate accounts. Nothing of theirs is deleted, and their background work goes on."""
        found = list(rows.exclude(is_superuser=True))
        for row in found:
            row.end_sessions()
        Account.objects.filter(pk__in=[row.pk for row in found]).update(is_active=False)
        said = f"Kept out: {len(found)}. The owner cannot be kept out."
        messages.success(request, said)

    @admin.action(description="Let them in again", permissions=["view"])
    def let_in(self, request: HttpRequest, rows: "QuerySet[Account]") -> None:
        """Reactivate accounts with their former password."""
        done = rows.filter(is_active=False).update(is_active=True)
        messages.success(request, f"Let in again: {done}.")


@admin.register(Workspace, site=site)
class WorkspaceAdmin(ReadOnly):
    list_display = ("slug", "owner", "created_at", "folder_made_at", "deleted_at")
    list_select_related = ("owner",)
    search_fields = ("slug", "owner__username")
    fields = ("id", "slug", "owner", "created_at", "folder_made_at", "deleted_at")
    ordering = ("slug",)


@admin.register(LoginSession, site=site)
class LoginSessionAdmin(ReadOnly):
    list_display = ("account", "device", "address", "started_at", "seen_at")
    list_select_related = ("account",)
    fields = ("account", "device", "address", "started_at", "seen_at")
    ordering = ("-seen_at",)


@admin.register(UsageDay, site=site)
class UsageDayAdmin(ReadOnly):
    list_display = (
        "day",
        "account",
        "kind",
        "model",
        "requests",
        "input_tokens",
        "output_tokens",
        "cache_read_tokens",
        "cache_write_tokens",
        "cost",
        "unpriced_tokens",
    )
    list_select_related = ("account",)
    list_filter = ("kind",)
    ordering = ("-day", "account", "kind")


@admin.register(Job, site=site)
class JobAdmin(ReadOnly):
    list_display = ("id", "workspace", "kind", "state", "step", "steps", "created_at", "ended_at")
    list_select_related = ("workspace",)
    list_filter = ("kind", "state")
    fields = (
        "workspace",
        "kind",
        "state",
        "step",
        "steps",
        "holder",
        "created_at",
        "started_at",
        "heartbeat_at",
        "ended_at",
    )
    ordering = ("-pk",)


@admin.register(UpSpan, site=site)
class UpSpanAdmin(ReadOnly):
    list_display = ("part", "host", "started_at", "last_at")
    list_filter = ("part",)
    ordering = ("-last_at",)
