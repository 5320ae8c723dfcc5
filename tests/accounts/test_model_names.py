"""Suggested names of models."""

import subprocess
import sys

from jenny.accounts import endpoints
from jenny.workspace.config import FIELDS


def test_suggestions_are_the_sdks_own() -> None:
    """The list follows the installed SDK, and one of it is offered first."""
    assert len(endpoints.known_models()) > 5
    assert all(name.startswith("claude-") for name in endpoints.known_models())
    assert endpoints.suggested_model() in endpoints.known_models()


def test_one_name_is_spoken_of_everywhere() -> None:
    """What the settings give as an example, and what stands in for an SDK that has no list, is the
    name that a form begins with."""
    [field] = [field for field in FIELDS if field.key == "modelPresets.*.model"]
    assert f" {endpoints.suggested_model()} " in field.help
    assert (endpoints.suggested_model(),) == endpoints._FALLBACK


def test_suggestions_do_not_cost_the_sdk() -> None:
    """The web server does not load the SDK for a list of words."""
    code = (
        "import sys; from jenny.accounts import endpoints; endpoints.known_models(); "
        "print('anthropic' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
