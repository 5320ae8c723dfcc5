"""A request of Dream that is longer than its model can read."""

from jenny.workspace import config
from tests.model_server import Fail
from tests.support.dreams import MEMORY, add, batch_of, finish

TOO_LONG = Fail(400, "invalid_request_error", "prompt is too long: 90000 tokens > 65000 maximum")


def _window(dreams, tokens):
    config.change_config(
        dreams.root,
        lambda document: (
            document.setdefault("agents", {})
            .setdefault("defaults", {})
            .update(contextWindowTokens=tokens)
        ),
    )


def test_a_file_that_is_too_big_is_named_and_no_model_is_asked(dreams):
    """The run is measured first: it says which file to shorten, and no entry has used up a try."""
    _window(dreams, 65_000)
    (dreams.root / MEMORY).write_text("# Memory\n\n" + "- A fact about bees.\n" * 22_000)
    (cursor,) = dreams.say("- [durable] Keeps bees.")
    for _ in range(5):
        run = dreams.run()
        assert run.status == "failed"
        assert MEMORY in run.why
        assert "462,0" in run.why
        assert "/new" not in run.why
    assert dreams.shown() == []
    assert dreams.cursor == 0
    (dreams.root / MEMORY).write_text("# Memory\n")
    dreams.model.script(add("- Keeps bees.", cursor), finish(saved=[cursor]))
    dreams.model.script("Done.")
    assert dreams.run().status == "completed"


def test_a_batch_that_is_too_long_is_halved_once(dreams):
    """A model that reads less than the settings say is asked about fewer entries, once."""
    first, second = dreams.say("- [durable] Keeps bees.", "- [durable] Has a hive.")
    dreams.model.script(TOO_LONG)
    dreams.model.script(add("- Keeps bees.", first), finish(saved=[first]))
    dreams.model.script("Done.")
    run = dreams.run()
    assert run.status == "completed"
    assert dreams.cursor == first
    shown = [batch_of(request) for request in dreams.shown()]
    assert "hive" in shown[0]
    assert "hive" not in shown[1]
    assert second > first


def test_a_request_that_stays_too_long_uses_up_no_try(dreams):
    """The files are to blame: however often it fails, the entry is never given up."""
    (dreams.root / MEMORY).write_text("# Memory\n\n" + "- A fact about bees.\n" * 1_000)
    (cursor,) = dreams.say("- [durable] Keeps bees.")
    for _ in range(5):
        dreams.model.script(TOO_LONG)
        run = dreams.run()
        assert run.status == "failed"
        assert MEMORY in run.why
        assert "/new" not in run.why
    assert dreams.cursor == 0
    (dreams.root / MEMORY).write_text("# Memory\n")
    dreams.model.script(add("- Keeps bees.", cursor), finish(saved=[cursor]))
    dreams.model.script("Done.")
    assert dreams.run().status == "completed"
