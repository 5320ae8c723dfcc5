"""Routes of the first run and the login."""

from django.urls import path

from jenny.accounts import views

# /
urlpatterns = [
    path("setup/", views.setup, name="setup"),
    path("setup/model/", views.setup_model, name="setup_model"),
    path("login/", views.login, name="login"),
    path("login/code/", views.login_code, name="login_code"),
    path("logout/", views.logout, name="logout"),
]
