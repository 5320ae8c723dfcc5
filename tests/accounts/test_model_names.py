"""Suggested names of models."""

import subprocess
import sys

from jenny.accounts import model_names
from jenny.workspace.config import FIELDS


def test_suggestions_are_the_sdks_own() -> None:
    """The list follows the installed SDK, and one of it is offered first."""
    assert len(model_names.known()) > 5
    assert all(name.startswith("claude-") for name in model_names.known())
    assert model_names.suggested() in model_names.known()


def test_one_name_is_spoken_of_everywhere() -> None:
    """What the settings give as an example, and what stands in for an SDK that has no list, is the
    name that a form begins with."""
    [field] = [field for field in FIELDS if field.key == "modelPresets.*.model"]
    assert f" {model_names.suggested()} " in field.help
    assert (model_names.suggested(),) == model_names._FALLBACK


def test_suggestions_do_not_cost_the_sdk() -> None:
    """The web server does not load the SDK for a list of words."""
    code = (
        "import sys; from jenny.accounts import model_names; model_names.known(); "
        "print('anthropic' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
