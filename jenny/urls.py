"""The root URL configuration: includes every app's routes."""

from django.urls import include, path
from django.views.generic import RedirectView

from jenny import admin, views
from settings_ui.views import system

# /
urlpatterns = [
    path("", RedirectView.as_view(url="/chat/"), name="home"),
    path("", include("jenny.accounts.urls")),
    path("", include("jenny.chat.urls")),
    path("", include("wikis.urls")),
    path("", include("settings_ui.urls")),
    path("operator/", admin.site.urls),
    path("metrics", system.metrics_page, name="metrics"),
    path("notices/", views.standing_notices, name="notices"),
    path("health/live", views.live, name="health_live"),
    path("health/ready", views.ready, name="health_ready"),
    path("manifest.webmanifest", views.manifest, name="manifest"),
    path("favicon.ico", views.favicon, name="favicon"),
    path("offline/", views.offline, name="offline"),
    path("offline/worker.js", views.worker, name="worker"),
]

handler400 = "jenny.views.bad_request"
handler403 = "jenny.views.forbidden"
handler404 = "jenny.views.not_found"
handler500 = "jenny.views.server_error"
