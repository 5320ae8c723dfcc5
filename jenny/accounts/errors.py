"""Errors of accounts and connections.

::

    AccountError                    for the person: ``message`` says what happened and what to do
      OwnerExists  OwnerMissing  AccountExists  UnknownZone
      ConnectionProblem
        UnknownPreset  KeyMissing  BadAddress  BadKey
    JobLost                         for nobody: stop
"""


class AccountError(Exception):
    """An error about accounts; :attr:`sentence` is for the person."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class OwnerExists(AccountError):
    def __init__(self) -> None:
        super().__init__("This Jenny has an owner already. Log in instead.")


class OwnerMissing(AccountError):
    """The owner must be created before further accounts."""

    def __init__(self) -> None:
        super().__init__("There is no owner yet. Make the owner first (create_owner, or /setup/).")


class AccountExists(AccountError):
    def __init__(self, username: str) -> None:
        super().__init__(f"There is an account called {username} already. Choose another name.")


class UnknownZone(AccountError):
    def __init__(self, name: str) -> None:
        super().__init__(f"There is no time zone called {name}. Europe/Berlin is one, UTC another.")


class ConnectionProblem(AccountError):
    """The configuration allows no connection to a model."""


class UnknownPreset(ConnectionProblem):
    """A conversation or command names a preset that does not exist."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"There is no model called {name}. Choose another one with /model, "
            "or make it in Settings → Models."
        )


class KeyMissing(ConnectionProblem):
    """The preset's provider needs a key and none is stored for it."""

    def __init__(self, preset: str, origin: str) -> None:
        super().__init__(
            f"The model “{preset}” needs an API key for {origin}, and there is none that can be "
            "read. Enter one in Settings → Models."
        )


class BadAddress(ConnectionProblem):
    pass


class BadKey(ConnectionProblem):
    pass


class JobLost(Exception):
    """The job was ended as dead meanwhile; its holder must change nothing any more."""
