"""What can go wrong with accounts and connections.

::

    AccountError                    for the person: ``sentence`` says what happened and what to do
      OwnerExists  OwnerMissing  AccountExists  UnknownZone
      ConnectionProblem
        UnknownPreset  KeyMissing  BadAddress  BadKey
    JobLost                         for nobody: stop
"""


class AccountError(Exception):
    """Something about accounts; :attr:`sentence` is for the person."""

    def __init__(self, sentence: str) -> None:
        """Keep the sentence."""
        super().__init__(sentence)
        self.sentence = sentence


class OwnerExists(AccountError):
    """The first account was made already."""

    def __init__(self) -> None:
        """Say so."""
        super().__init__("This Jenny has an owner already. Log in instead.")


class OwnerMissing(AccountError):
    """Further accounts come after the owner."""

    def __init__(self) -> None:
        """Say what comes first."""
        super().__init__("There is no owner yet. Make the owner first (create_owner, or /setup/).")


class AccountExists(AccountError):
    """The name is taken, in whatever case."""

    def __init__(self, username: str) -> None:
        """Name it."""
        super().__init__(f"There is an account called {username} already. Choose another name.")


class UnknownZone(AccountError):
    """There is no time zone of that name."""

    def __init__(self, name: str) -> None:
        """Name it, and a good one."""
        super().__init__(f"There is no time zone called {name}. Europe/Berlin is one, UTC another.")


class ConnectionProblem(AccountError):
    """No connection to a model can be made from what is configured."""


class UnknownPreset(ConnectionProblem):
    """A conversation or command names a preset that is not there."""

    def __init__(self, name: str) -> None:
        """Name it."""
        super().__init__(
            f"There is no model preset called {name}. Choose another one with /model, "
            "or make it in Settings → Models."
        )


class KeyMissing(ConnectionProblem):
    """The preset's provider wants a key and none is stored for it."""

    def __init__(self, preset: str, origin: str) -> None:
        """Name both."""
        super().__init__(
            f"The model “{preset}” needs an API key for {origin}, and there is none that can be "
            "read. Enter one in Settings → Models."
        )


class BadAddress(ConnectionProblem):
    """A base URL that cannot be used."""


class BadKey(ConnectionProblem):
    """An API key that cannot be one."""


class JobLost(Exception):
    """Long work was taken for dead meanwhile; whoever does it must leave everything alone."""
