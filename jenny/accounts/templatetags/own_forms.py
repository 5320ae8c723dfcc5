"""A ``{% csrf_token %}`` that also sends the workspace in which the page was made.

A form that was opened before another tab switched is then refused instead of changing the wrong
workspace (``WorkspaceMiddleware``).
"""

from django import template
from django.template.defaulttags import CsrfTokenNode
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from jenny.accounts.models import Workspace

register = template.Library()

FIELD = "in_workspace"


class _FormTokens(CsrfTokenNode):
    def render(self, context: template.Context) -> SafeString:
        token = super().render(context)
        row = context.get("workspace")
        # A conversation's forms name it in their address; a thread has hundreds of them.
        if not token or not isinstance(row, Workspace) or context.get("conversation") is not None:
            return mark_safe(token)  # noqa: S308 - Django's own, with nothing of ours in it
        field = format_html('<input type="hidden" name="{}" value="{}">', FIELD, row.pk)
        return SafeString(token + field)


@register.tag("csrf_token")
def csrf_token(parser: template.base.Parser, token: template.base.Token) -> _FormTokens:
    """Parse the tag; it renders the two hidden fields of a POST form."""
    del parser, token
    return _FormTokens()
