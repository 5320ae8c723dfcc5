"""Makes one tiny call to a model, to test a connection.

It runs in a process of its own: the SDK costs a second and 60 MB, which the web server would keep
for a button that is pressed once a month. ``python -m jenny.accounts.connection_test`` reads
endpoint and preset as JSON from standard input, so that the key is on no command line.
"""

import contextlib
import json
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from jenny.agent import provider
from jenny.agent.cancellation import CancellationToken
from jenny.agent.errors import AgentError, Cancelled, ProviderFault
from jenny.agent.limits import Limits
from jenny.agent.messages import Image, Message, Text
from jenny.agent.preset import Endpoint, Preset
from jenny.agent.reply import Counted, StepEnd
from jenny.agent.tokens import Usage

QUESTION = "Answer with the one word: hello."
# 64 × 64 white pixels, to see whether the model takes pictures.
_PICTURE = (
    "iVBORw0KGgoAAAANSUhEUgAAAEAAAABAAQAAAACCEkxzAAAAFElEQVR4nGP8zwABTAyjjFEGyQwAzx8Bf2TeB3QAAAAA"
    "SUVORK5CYII="
)
MAX_TOKENS = 64
SECONDS = 30.0
# Extra time for starting the process on a busy machine.
_START_SECONDS = 90.0


@dataclass(frozen=True)
class Answer:
    ok: bool
    message: str
    usage: Usage | None = None


def test_connection_now(endpoint: Endpoint, preset: Preset) -> Answer:
    """Ask the model in this process."""
    provider.warm()
    limits = Limits(max_output_tokens=MAX_TOKENS, seconds=SECONDS, first_byte_seconds=SECONDS)
    started = time.monotonic()
    usage: Usage | None = None
    source = provider.Provider(endpoint, preset)
    watch = CancellationToken()
    watch.limit(SECONDS)
    try:
        for event in source.stream(
            system=[],
            messages=[Message("user", (Image("image/png", _PICTURE, "."), Text(QUESTION)))],
            tools=[],
            watch=watch,
            limits=limits,
        ):
            if isinstance(event, Counted | StepEnd):
                usage = event.usage
    except ProviderFault as fault:
        after = time.monotonic() - started
        return Answer(ok=False, message=f"After {after:.1f} seconds: {fault.advice}")
    except AgentError as error:
        return Answer(ok=False, message=error.message)
    except Cancelled:
        return Answer(ok=False, message=_silence(preset))
    seconds = time.monotonic() - started
    said = f"{preset.model} answered in {seconds:.1f} seconds."
    if not source.takes_pictures:
        said += " It takes no pictures: it is sent their names and paths."
    return Answer(ok=True, message=said, usage=usage)


def test_in_subprocess(endpoint: Endpoint, preset: Preset) -> Answer:
    """Ask the model in a process of its own, and return any failure there as an answer."""
    plain = {
        "endpoint": {"base_url": endpoint.base_url, "key": endpoint.key},
        "preset": {
            "name": preset.name,
            "model": preset.model,
            "temperature": preset.temperature,
            "takes_pictures": preset.takes_pictures,
        },
    }
    try:
        done = subprocess.run(  # noqa: S603 - our own module, nothing of it from a form
            [sys.executable, "-m", __name__],
            input=json.dumps(plain),
            capture_output=True,
            text=True,
            timeout=SECONDS + _START_SECONDS,
            cwd=Path(__file__).parents[2],
            check=True,
        )
        said = json.loads(done.stdout)
        usage = Usage(**said["usage"]) if said["usage"] else None
        answer = Answer(ok=bool(said["ok"]), message=str(said["message"]))
    except subprocess.TimeoutExpired:
        return Answer(ok=False, message=_silence(preset))
    except (subprocess.CalledProcessError, OSError, ValueError, KeyError, TypeError):
        return Answer(ok=False, message="The test itself did not run. Try again.")
    if usage is not None and endpoint.meter is not None:
        endpoint.meter.count(preset, usage)
    return answer


def _silence(preset: Preset) -> str:
    return f"{preset.model} did not answer within {SECONDS:.0f} seconds."


def main() -> None:
    """Read the request from standard input and print the answer."""
    given = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):
        answer = test_connection_now(Endpoint(**given["endpoint"]), Preset(**given["preset"]))
    sys.stdout.write(json.dumps(asdict(answer)))


if __name__ == "__main__":
    main()
