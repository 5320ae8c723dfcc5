"""What counts as a summariser's answer, and what does not."""

import pytest

from jenny.agent.answers import strip_reasoning
from memory.history.summary_answer import Answer, NoAnswer, is_kept, mark_of, parse_answer

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
        (f"{FACT}\n- a bullet without a mark", f"{FACT}\n- [durable] a bullet without a mark"),
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
    found = parse_answer(text, "end_turn")
    assert isinstance(found, Answer)
    assert found.text == facts


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("- User prefers dark mode", "- [durable] User prefers dark mode"),
        ("1. Likes tea\n2) Lives in Graz", "- [durable] Likes tea\n- [durable] Lives in Graz"),
        ("The user talked about cats.\n- likes cats", "- [durable] likes cats"),
        ("- [important] Calls his mother", "- [durable] important: Calls his mother"),
        ("- [ ] Buys milk", "- [durable] Buys milk"),
        (
            "- See [the plan](https://example.org/plan)",
            "- [durable] See [the plan](https://example.org/plan)",
        ),
    ],
)
def test_a_list_without_tags_counts_as_durable(text: str, facts: str) -> None:
    """A small model's summary is kept, and how many facts came without a tag is said."""
    assert parse_answer(text, "end_turn") == Answer(facts, untagged=facts.count("\n") + 1)


@pytest.mark.parametrize(
    ("line", "fact"),
    [
        ("- **[Durable]** a", "- [durable] a"),
        ("- **[durable] a**", "- [durable] a"),
        ("- (durable) a", "- [durable] a"),
        ("- durable: a", "- [durable] a"),
        ("- **Durable:** a", "- [durable] a"),
        ("- **Durable**: a", "- [durable] a"),
        ("- *Durable* a", "- [durable] a"),
        ("Permanent: a", "- [permanent] a"),
        ("1. (Correction) a", "- [correction] a"),
        ("- a [durable]", "- [durable] a"),
        ("- [long-term] a", "- [durable] a"),
        ("- [permanent, correction] a", "- [correction] a"),
        ("- [permanent][durable] a", "- [permanent] a"),
        ("| durable | a |", "- [durable] a"),
        ("## Permanent\n- a", "- [permanent] a"),
        ("**Durable facts:**\n  - a\n  - b", "- [durable] a\n- [durable] b"),
        ("- 【永久】a", "- [permanent] a"),
        ("・［長期］a", "- [durable] a"),
        ("- （一時的）a", "- [ephemeral] a"),
        ("- 訂正：a", "- [correction] a"),
        ("- 【长期】a", "- [durable] a"),
        ("- 临时：a", "- [ephemeral] a"),
        ("- [영구] a", "- [permanent] a"),
        ("- [dauerhaft] a", "- [durable] a"),
        ("- **Korrektur:** a", "- [correction] a"),
        ("- [éphémère] a", "- [ephemeral] a"),
        ("- (permanente) a", "- [permanent] a"),
        ("- [duradero] a", "- [durable] a"),
        ("- [duradouro] a", "- [durable] a"),
        ("- [duraturo] a", "- [durable] a"),
        ("- [tijdelijk] a", "- [ephemeral] a"),
        ("- [trwałe] a", "- [durable] a"),
        ("- [dlouhodobé] a", "- [durable] a"),
        ("- [постоянно] a", "- [permanent] a"),
        ("- Исправление: a", "- [correction] a"),
        ("- [kalıcı] a", "- [permanent] a"),
        ("- [مؤقت] a", "- [ephemeral] a"),
        ("- [स्थायी] a", "- [permanent] a"),
    ],
)
def test_tags_are_understood_as_small_models_write_them(line: str, fact: str) -> None:
    """In another case, language, bracket or place, a tag is the same tag."""
    assert parse_answer(line, "end_turn") == Answer(fact)


@pytest.mark.parametrize(
    ("line", "fact"),
    [
        ("- [dated 2026-12-04] a", "- [dated 2026-12-04] a"),
        ("- **[Dated: 2026-12-04 15:00]** a", "- [dated 2026-12-04 15:00] a"),
        ("- [dated 2026-12-04 to 2026-12-06] a", "- [dated 2026-12-04 to 2026-12-06] a"),
        ("- [dated 2026-12-04/2026-12-06] a", "- [dated 2026-12-04 to 2026-12-06] a"),
        ("- (due 2026-12-04) a", "- [dated 2026-12-04] a"),
        ("- [datiert 4.12.2026] a", "- [dated 2026-12-04] a"),
        ("- 【日付 2026年12月4日】a", "- [dated 2026-12-04] a"),
        ("- [ephemeral, dated 2026-12-04] a", "- [dated 2026-12-04] a"),
        ("- [correction, dated 2026-12-04] a", "- [correction, dated 2026-12-04] a"),
        ("- [dated] Pays on 2026-12-04", "- [dated 2026-12-04] Pays on 2026-12-04"),
        ("- [dated soon] a", "- [durable] dated soon: a"),
        ("- Rents it (until 2027-05-01)", "- [durable] Rents it (until 2027-05-01)"),
        ("- Termin: Zahnarzt", "- [durable] Termin: Zahnarzt"),
    ],
)
def test_a_tag_may_name_a_day(line: str, fact: str) -> None:
    """A day stands in the tag in one form, whatever the model wrote; what is said stays whole."""
    found = parse_answer(line, "end_turn")
    assert isinstance(found, Answer)
    assert found.text == fact


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
    assert parse_answer(text, "end_turn") == Answer("")


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
        "I can't help with that:\n- it is private\n- ask somebody else",
        "- I'm sorry, but I cannot help with that.",
        "Es tut mir leid.\n- Das kann ich nicht zusammenfassen.",
        "What would you like me to do?\n- summarise\n- translate",
        "- [2026-11-30 10:00] USER: hi\n- [2026-11-30 10:01] ASSISTANT: hello",
        "502 Bad Gateway\n- nginx",
        '```json\n{"facts": ["likes tea"]}\n```',
        '- {"fact": "likes tea"}',
        "- 1\n- 2",
        "- [durable]",
        "- [durable]   \n",
        f"- [durable] Reports begin with <analysis> and end with a date.\n{FACT}",
        f"{FACT}\n<think>or rather\n{FACT}",
    ],
)
def test_anything_else_is_none(text: str) -> None:
    """CON1, CON13: errors, pages, objects, blanks and thoughts are never stored as memory."""
    assert isinstance(parse_answer(text, "end_turn"), NoAnswer)


@pytest.mark.parametrize("stop", ["max_tokens", "refusal", "tool_use", "pause_turn", "", "error"])
def test_only_a_natural_stop_counts(stop: str) -> None:
    """A cut answer may lack the one fact that mattered."""
    assert isinstance(parse_answer(FACT, stop), NoAnswer)
    assert isinstance(parse_answer(FACT, "end_turn", has_calls=True), NoAnswer)


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
