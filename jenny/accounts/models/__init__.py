"""Accounts, the workspaces they own, their keys, sessions, second factors, use of models and long
work; and when the parts of Jenny were up."""

from jenny.accounts.models.account import Account, Accounts, Theme
from jenny.accounts.models.activity import UpSpan
from jenny.accounts.models.api_key import ApiKey
from jenny.accounts.models.jobs import Job
from jenny.accounts.models.leftovers import Leftover
from jenny.accounts.models.login_session import LoginSession
from jenny.accounts.models.two_factor import RecoveryCode, TwoFactor
from jenny.accounts.models.usage import UsageDay, Used
from jenny.accounts.models.workspace import LiveWorkspaces, Workspace

__all__ = [
    "Account",
    "Accounts",
    "ApiKey",
    "Job",
    "Leftover",
    "LiveWorkspaces",
    "LoginSession",
    "RecoveryCode",
    "Theme",
    "TwoFactor",
    "UpSpan",
    "UsageDay",
    "Used",
    "Workspace",
]
