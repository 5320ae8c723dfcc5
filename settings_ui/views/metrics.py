"""``/metrics`` for Prometheus, when the operator enabled it."""

from http import HTTPStatus

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from settings_ui.services import metrics


@login_not_required
@never_cache
@require_safe
def metrics_page(request: HttpRequest) -> HttpResponse:
    if settings.JENNY_METRICS != "on":
        raise Http404
    token = settings.JENNY_METRICS_TOKEN
    if token and not constant_time_compare(
        request.headers.get("Authorization", ""), f"Bearer {token}"
    ):
        headers = {"WWW-Authenticate": 'Bearer realm="metrics"'}
        return HttpResponse(status=HTTPStatus.UNAUTHORIZED, headers=headers)
    return HttpResponse(metrics.text(), content_type=metrics.CONTENT_TYPE)
