"""Accounts, the workspaces they own, their API keys, their sessions and long work."""

from jenny.accounts.models.account import Account, Accounts
from jenny.accounts.models.api_key import ApiKey
from jenny.accounts.models.jobs import Job
from jenny.accounts.models.login_session import LoginSession
from jenny.accounts.models.workspace import LiveWorkspaces, Workspace

__all__ = ["Account", "Accounts", "ApiKey", "Job", "LiveWorkspaces", "LoginSession", "Workspace"]
