"""Routes of the settings."""

from django.urls import path
from django.views.generic import RedirectView

from settings_ui.views import account, models

# /settings/
urlpatterns = [
    path("settings/", RedirectView.as_view(pattern_name="settings_models"), name="settings"),
    path("settings/models/", models.page, name="settings_models"),
    path("settings/models/use", models.use, name="settings_models_use"),
    path("settings/models/test", models.test, name="settings_models_test"),
    path("settings/models/put-back", models.put_back, name="settings_models_put_back"),
    path("settings/models/keys/<int:key_id>/remove", models.remove_key, name="settings_key_remove"),
    path("settings/models/preset/<str:name>/", models.preset, name="settings_preset"),
    path(
        "settings/models/preset/<str:name>/remove",
        models.remove,
        name="settings_preset_remove",
    ),
    path("settings/account/", account.page, name="settings_account"),
    path("settings/account/password", account.password, name="settings_password"),
    path("settings/account/timezone", account.time_zone, name="settings_time_zone"),
    path("settings/account/sessions/end-others", account.end_others, name="settings_end_others"),
    path(
        "settings/account/sessions/<int:session_id>/end",
        account.end_session,
        name="settings_end_session",
    ),
]
