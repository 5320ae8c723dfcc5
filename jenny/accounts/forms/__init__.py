"""Forms of the first run, the login and the connection to a model."""

from jenny.accounts.forms.connections import ConnectionForm, ModelForm
from jenny.accounts.forms.people import CodeForm, LoginForm, SetupForm
from jenny.accounts.forms.trying import is_fit, waiting_key

__all__ = [
    "CodeForm",
    "ConnectionForm",
    "LoginForm",
    "ModelForm",
    "SetupForm",
    "is_fit",
    "waiting_key",
]
