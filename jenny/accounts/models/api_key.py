"""A key for a model server, encrypted and bound to its origin."""

from django.conf import settings
from django.db import models

from jenny.accounts.models.account import Account
from jenny.accounts.vault import Unreadable, Vault, mask


class ApiKey(models.Model):
    """A key for one origin (scheme, host, port), encrypted; never sent to another origin."""

    account = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_keys"
    )
    origin = models.CharField(max_length=255)
    ciphertext = models.BinaryField()
    hint = models.CharField(max_length=16)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["account", "origin"], name="one_key_per_origin")
        ]

    def __str__(self) -> str:
        """The origin and the masked key."""
        return f"{self.origin} {self.hint}"

    @classmethod
    def keep(cls, account: Account, origin: str, key: str) -> None:
        """Store *key* for *origin*, in place of an earlier one."""
        cls.objects.update_or_create(
            account=account,
            origin=origin,
            defaults={
                "ciphertext": Vault(settings.SECRET_KEY).encrypt(key, origin),
                "hint": mask(key),
            },
        )

    def reveal(self) -> str | None:
        """The key; ``None`` when it cannot be read since the secret key is another one."""
        try:
            return Vault(settings.SECRET_KEY).decrypt(bytes(self.ciphertext), self.origin)
        except Unreadable:
            return None
