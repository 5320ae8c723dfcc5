"""Models for accounts, workspaces, keys, sessions, second factors, usage, jobs and uptime."""

from jenny.accounts.models.account import Account, Accounts, ApiKey, LoginSession, Theme
from jenny.accounts.models.activity import UpSpan
from jenny.accounts.models.jobs import Job
from jenny.accounts.models.two_factor import RecoveryCode, TwoFactor
from jenny.accounts.models.usage import UsageDay, Used
from jenny.accounts.models.workspace import Leftover, LiveWorkspaces, Workspace

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
