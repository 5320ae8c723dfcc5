"""``config.json`` edited as text, in developer mode: through its funnel, like every setting."""

import json
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from jenny.workspace import config
from jenny.workspace.errors import ConfigRefused, ConfirmationNeeded
from settings_ui.views.files import frame
from settings_ui.views.files.frame import Desk

_CONFIRMABLE = [key for key, row in config.BY_KEY.items() if row.confirm_below is not None]


def save(request: HttpRequest, desk: Desk, context: dict[str, Any]) -> HttpResponse:
    """Put the text in place of the settings, if it is JSON and every value may be so.

    Whoever changed a setting meanwhile is not written over: the form carries the version.
    """
    current = desk.files.read("config.json")
    problem = ""
    needs_yes = False
    if context["version"] != current.version:
        problem = (
            "The settings have changed since this page was opened. Nothing was written; your text "
            "is below. Save again to put it in their place."
        )
        context["version"] = current.version
    else:
        try:
            wanted = json.loads(context["text"])
            if not isinstance(wanted, dict):
                raise ConfigRefused("The settings are one JSON object in braces.")  # noqa: TRY301 - told with the others

            def mutate(data: config.Raw) -> None:
                data.clear()
                data.update(wanted)

            confirmed = _CONFIRMABLE if request.POST.get("confirm") == "yes" else ()
            changed = config.change(desk.files.root, mutate, confirmed=confirmed)
        except ConfirmationNeeded as error:
            problem, needs_yes = " ".join((error.sentence, *error.problems.values())), True
        except ConfigRefused as error:
            problem = " ".join((error.sentence, *error.problems.values()))
        except ValueError as error:
            problem = f"This is not JSON: {error}. Nothing was written; your text is below."
        else:
            said = "The settings are saved." if changed else "The settings were like this already."
            messages.success(request, said)
            return redirect(frame.address("config.json"))
    context |= frame.frame(desk, "config.json", is_folder=False)
    context |= {"problem": problem, "needs_yes": needs_yes}
    return render(request, "files/edit.html", context, status=HTTPStatus.UNPROCESSABLE_ENTITY)
