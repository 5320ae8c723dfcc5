"""What counts as a summariser's answer, and what does not."""

import pytest

from memory.history.marks import Answer, NoAnswer, is_kept, mark_of, read, strip_reasoning

FACT = "- [durable] Ana moved to Olomouc on 3 March 2026."


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        (FACT, FACT),
        (f"\n\n{FACT}\n- [skip] Small talk.\n", f"{FACT}\n- [skip] Small talk."),
        (
            "* [Durable] a\n• [PERMANENT] b\n1. [ephemeral] c",
            "- [durable] a\n- [permanent] b\n- [ephemeral] c",
        ),
        ("- **[correction]** a\n[durable] b", "- [correction] a\n- [durable] b"),
        (f"Here are the facts:\n\n{FACT}\n\nLet me know!", FACT),
        (f"```markdown\n{FACT}\n```", FACT),
        (
            "- [durable] first\n  goes on here\n- [durable] second",
            "- [durable] first\n  goes on here\n- [durable] second",
        ),
        (
            f"- [durable] Lives at\nLange Gasse 5\n\n  Vienna\n{FACT}\n```\nThat is all.",
            f"- [durable] Lives at\n  Lange Gasse 5\n  Vienna\n{FACT}",
        ),
        (f"{FACT}\n- a bullet without a mark", f"{FACT}\n- a bullet without a mark"),
        (f"{FACT}\n(nothing)", FACT),
        (
            "- [durable] 部屋は三階。\n- [permanent] Имя — Ана.",
            "- [durable] 部屋は三階。\n- [permanent] Имя — Ана.",
        ),
        ("- [durable] He wants `<think>` tags shown", "- [durable] He wants `<think>` tags shown"),
        (
            "- [durable] Strips `<think>` and `</think>`",
            "- [durable] Strips `<think>` and `</think>`",
        ),
    ],
)
def test_facts_are_taken_as_they_were_said(text: str, facts: str) -> None:
    """However a model writes its bullets; what is around them is dropped."""
    assert read(text, "end_turn") == Answer(facts)


@pytest.mark.parametrize(
    "text",
    [
        "(nothing)",
        " (nothing)\n",
        "(Nothing).",
        "`(nothing)`",
        "- (nothing)",
        "<think>hm</think>(nothing)",
    ],
)
def test_nothing_is_an_answer(text: str) -> None:
    """Nothing is stored, and the conversation moves on."""
    assert read(text, "end_turn") == Answer("")


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\t ",
        "<think>- [durable] thought only",
        f"<think>{FACT}</think>",
        "Error: 529 overloaded_error. Please try again later.",
        "<!DOCTYPE html><html><body><ul><li>[durable] a</li></ul></body></html>",
        f"<html>\n{FACT}\n</html>",
        '{"facts": ["- [durable] a"]}',
        f"{{\n{FACT}\n}}",
        f'[\n{{"a": 1}}]\n{FACT}',
        "nothing",
        "I am sorry, but I cannot help with that.",
        "The user talked about cats.\n- likes cats\n- has two",
        "- [important] a mark that does not exist",
        "- [durable]",
        "- [durable]   \n",
        f"- [durable] Reports begin with <analysis> and end with a date.\n{FACT}",
        f"{FACT}\n<think>or rather\n{FACT}",
    ],
)
def test_anything_else_is_none(text: str) -> None:
    """CON1, CON13: errors, pages, objects, blanks and thoughts are never stored as memory."""
    assert isinstance(read(text, "end_turn"), NoAnswer)


@pytest.mark.parametrize("stop", ["max_tokens", "refusal", "tool_use", "pause_turn", "", "error"])
def test_only_a_natural_stop_counts(stop: str) -> None:
    """A cut answer may lack the one fact that mattered."""
    assert isinstance(read(FACT, stop), NoAnswer)
    assert isinstance(read(FACT, "end_turn", has_calls=True), NoAnswer)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<think>a</think>fact", "fact"),
        ("<thinking>a <think>b</think> c</thinking>fact", "fact"),
        ("a thought without its beginning</think>fact", "fact"),
        ("fact<think>never closed", "fact"),
        ("one <reasoning>x</reasoning>two", "one two"),
        ("```xml\n<think>secret</think>\n```", "```xml\n\n```"),
        ("<THINK type='x'>a</THINK>\n\nfact", "fact"),
        ("<|channel|>analysis<|message|>hm<|end|><|start|><|channel|>final<|message|>fact", "fact"),
        ("a < b and c > d", "a < b and c > d"),
    ],
)
def test_thoughts_are_stripped(text: str, left: str) -> None:
    """Closed, nested, unopened and unclosed ones."""
    assert strip_reasoning(text) == left


def test_marks_tell_what_is_to_be_kept() -> None:
    """Of the entry's own text, whatever else it speaks of."""
    assert mark_of(" - [Correction] x") == "correction"
    assert mark_of("- the mark [durable] is spoken of") == ""
    assert is_kept(f"- [ephemeral] a\n{FACT}")
    assert not is_kept("- [ephemeral] a\n- [skip] durable")
