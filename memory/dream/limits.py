"""How far a Dream run may go, and what is said of one that went as far.

Without these a model that turns in circles could use up its owner's money, or hold the workspace's
only run for ever.
"""

from dataclasses import replace

from jenny.agent.limits import Limits
from jenny.workspace.config import Config

_DREAM = "agents.defaults.dream"
# Kept free at the end of a run's time for what follows the model's turn.
GRACE_SECONDS = 120.0
WHERE = "Settings → Memory updates"


def limits(
    config: Config, *, used_today: int, used: int = 0, steps: int = 0, result_chars: int = 16_000
) -> Limits:
    """A run's limits. *used_today*: tokens that the day's runs of the workspace used before it;
    *used* and *steps*: what itself has taken so far."""
    return Limits(
        max_steps=max(config.get(f"{_DREAM}.maxStepsPerRun") - steps, 1),
        max_run_tokens=_tokens(config, used_today, used),
        seconds=float(config.get(f"{_DREAM}.maxSecondsPerRun")),
        max_result_chars=result_chars,
    )


def review(config: Config, *, used_today: int) -> Limits:
    """A review pass's limits: at most half of what its run may take, so that the batch has its
    share."""
    whole = limits(config, used_today=used_today)
    tokens = whole.max_run_tokens
    return replace(
        whole,
        max_steps=max(whole.max_steps // 2, 1),
        max_run_tokens=None if tokens is None else max(tokens // 2, 1),
        seconds=whole.seconds / 2,
    )


def deadline_seconds(config: Config) -> float:
    """After how long a run is over whatever it does, and its claim ends."""
    return float(config.get(f"{_DREAM}.maxSecondsPerRun")) + GRACE_SECONDS


def day_is_spent(config: Config, used_today: int) -> str:
    """Why no further run begins today; empty when one may."""
    most = config.get(f"{_DREAM}.maxTokensPerDay")
    if not most or used_today < most:
        return ""
    return (
        f"Dream's tokens of today are used up ({used_today:,} of {most:,}). "
        f"It goes on tomorrow; the limit is in {WHERE}."
    )


def capped(ending: str, limits_: Limits) -> str:
    """What is said of a run that a limit ended; empty for another ending."""
    match ending:
        case "step_cap":
            return f"It took as many steps as a run may ({limits_.max_steps:,})."
        case "tokens":
            return f"It used as many tokens as a run may ({limits_.max_run_tokens:,})."
        case "time":
            return f"It took as long as a run may ({limits_.seconds:,.0f} seconds)."
        case "repeat":
            return "The model made the same call again and again."
        case "cut":
            return "A reply of the model reached its length limit."
    return ""


def _tokens(config: Config, used_today: int, used: int) -> int | None:
    """What is left of the run's own limit, or of the day's; ``None``: there is none."""
    run: int = config.get(f"{_DREAM}.maxTokensPerRun")
    day: int = config.get(f"{_DREAM}.maxTokensPerDay")
    left = [run - used] if run else []
    left += [day - used_today - used] if day else []
    return max(min(left), 1) if left else None
