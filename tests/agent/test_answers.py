"""The short answers of models, without what they put around them."""

import pytest

from jenny.agent.answers import first_line


@pytest.mark.parametrize(
    "said",
    [
        "Bees in spring",
        '"Bees in spring"',
        "**Bees in spring**",
        "# Bees in spring",
        "Title: Bees in spring",
        "**Title:** Bees in spring",
        "Titel: „Bees in spring“",
        "Titre : « Bees in spring »",
        "Título: Bees in spring.",
        "Заголовок: Bees in spring",
        "标题：Bees in spring",
        "タイトル：「Bees in spring」",
        "제목: Bees in spring",
        "العنوان: Bees in spring",
        "Suggested title: Bees in spring",
        "Conversation Title: Bees in spring",
        "Here is a short title: Bees in spring",
        "Sure! Here's a title:\n\n**Bees in spring**",
        "Bees in spring\n\nThis title says what the conversation is about.",
        "Bees in spring\nExplanation: it is about bees.",
        "<think>The user asks for a title.</think>\nBees in spring",
        "<thinking>\nHm.\n</thinking>\n\nTitle: Bees in spring",
        "The user keeps bees, so </think>Bees in spring",
        "[THINK]Hm.[/THINK]Bees in spring",
        "◁think▷Hm.◁/think▷Bees in spring",
        "<seed:think>Hm.</seed:think>Bees in spring",
        (
            "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>"
            "Bees in spring<|return|>"
        ),
        "<|begin_of_thought|>Hm.<|end_of_thought|>Bees in spring",
        "```\nBees in spring\n```",
        '```json\n{"title": "Bees in spring"}\n```',
        "- Bees in spring",
        "1. Bees in spring\n2. Hives",
        "<title>Bees in spring</title>",
        "\u0007Bees\tin spring",
    ],
)
def test_the_first_real_line_is_the_answer(said):
    """Thoughts, labels, quotes, markup and explanations are no part of it."""
    assert first_line(said, 60) == "Bees in spring"


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("Python: sorting a list", "Python: sorting a list"),
        ("Entitled to a refund?", "Entitled to a refund?"),
        ("Sure-footed goats", "Sure-footed goats"),
        ("C# and F#", "C# and F#"),
        ("3. Oktober in Berlin", "3. Oktober in Berlin"),
        ("蜂の世話。", "蜂の世話"),
        ("می‌خواهم", "می‌خواهم"),
        ("<think>never ends", ""),
        ("```\n```", ""),
        ("…", ""),
        ("", ""),
    ],
)
def test_what_belongs_to_the_answer_stays(said, line):
    """A colon or a number makes no label of a word; nothing gives nothing."""
    assert first_line(said, 60) == line


def test_a_long_line_is_cut_at_a_word():
    """However much a model writes, the line is short."""
    assert first_line("word " * 100, 60) == "word " * 10 + "word…"
    assert len(first_line("x" * 500, 60)) == 60
