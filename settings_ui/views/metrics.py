"""``/metrics`` for Prometheus, where the operator switched it on."""

from http import HTTPStatus

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from settings_ui import exposition
from settings_ui.management import measuring


@login_not_required
@never_cache
@require_safe
def page(request: HttpRequest) -> HttpResponse:
    """Numbers of the instance; 404 unless switched on, 401 without the token, where one is set."""
    if settings.JENNY_METRICS != "on":
        raise Http404
    token = settings.JENNY_METRICS_TOKEN
    if token and not constant_time_compare(
        request.headers.get("Authorization", ""), f"Bearer {token}"
    ):
        headers = {"WWW-Authenticate": 'Bearer realm="metrics"'}
        return HttpResponse(status=HTTPStatus.UNAUTHORIZED, headers=headers)
    return HttpResponse(measuring.text(), content_type=exposition.CONTENT_TYPE)
