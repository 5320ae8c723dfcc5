"""Where random tests get their seed from."""

import os
from datetime import UTC, datetime


def seed() -> int:
    """The same one in each ``make test``, so that a pass is one everywhere; another one every day
    in ``make soak``, whose business it is to find what nobody thought of."""
    return datetime.now(UTC).toordinal() if "JENNY_SOAK" in os.environ else 1
