"""All limits of one run as one value, with named checks."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of a run. Times are in seconds; the defaults are a chat's."""

    # Requests to the model, retries apart (agents.defaults.maxToolIterations).
    max_steps: int = 200
    # Tokens of one reply; the preset's own limit holds as well.
    max_output_tokens: int | None = None
    # Tokens of the whole run, in and out, by the provider's count.
    max_run_tokens: int | None = None
    seconds: float = 1800.0
    connect_seconds: float = 10.0
    # From the request to the first byte of the reply's body, and between two bytes of it.
    first_byte_seconds: float = 120.0
    between_bytes_seconds: float = 60.0
    # The same call so many times in a row ends the run.
    identical_calls: int = 4
    # Attempts after the first, for each step.
    retries: int = 4
    # Retries after an attempt without any reply: each of these costs minutes.
    silent_retries: int = 1
    # Wait before the first retry; each further one doubles it, up to the ceiling.
    retry_seconds: float = 1.0
    retry_ceiling_seconds: float = 20.0
    # A longer wait requested by a provider ends the run.
    retry_after_ceiling_seconds: float = 90.0
    max_result_chars: int = 16_000

    def steps_spent(self, steps: int) -> bool:
        return steps >= self.max_steps

    def tokens_spent(self, tokens: int) -> bool:
        return self.max_run_tokens is not None and tokens >= self.max_run_tokens

    def reply_tokens(self, wanted: int) -> int:
        """Return the maximum of a reply when the preset wants *wanted* tokens."""
        return wanted if self.max_output_tokens is None else min(wanted, self.max_output_tokens)

    def may_retry(
        self, attempt: int, retry_after: float | None, *, is_silent: bool = False
    ) -> bool:
        """True when the attempt with that number (from 1) may be followed by another."""
        patient = retry_after is None or retry_after <= self.retry_after_ceiling_seconds
        most = min(self.retries, self.silent_retries) if is_silent else self.retries
        return attempt <= most and patient

    def retry_delay(self, attempt: int, retry_after: float | None) -> float:
        """Return the wait after that attempt: the provider's value, or a doubling time."""
        own = min(self.retry_seconds * 2.0 ** (attempt - 1), self.retry_ceiling_seconds)
        return own if retry_after is None else max(retry_after, 0.0)
