"""Formulas are typeset, money is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jenny.markdown.maths import typeset
from jenny.markdown.render import render
from tests.support.html import Seen


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("$x^2$", "x2"),
        ("so $x$ is", "so x is"),
        ("the $n$th", "the nth"),
        ("$f(x, y) = x + y$", "f(x,y)=x+y"),
        ("$0.5$", "0.5"),
        ("$2\\pi r$", "2πr"),
        ("$$e = mc^2$$", "e=mc2"),
        ("$$\n\\frac{1}{2}\n$$", "12"),
        ("\\(a + b\\)", "a+b"),
        ("\\[ a^2 + b^2 = c^2 \\]", "a2+b2=c2"),
        ("\\[\n\\sqrt{x}\n\\]", "x"),
        ("- $a_1$\n- $$a_2$$", "a1\na2\n\n"),
        ("$5x + 3ab$", "5x+3ab"),
        ("$2 sin(x) = 1$", "2sin(x)=1"),
        ("$$x$$ and $y$", "x and y"),
        ("值$x$是", "值x是"),
        ("\\(n\\)", "n"),
    ],
)
def test_formula(source: str, text: str) -> None:
    """Formulas of each notation become MathML."""
    html = render(source)
    assert "<math" in html
    assert Seen(html).text.strip() == text.strip()


@pytest.mark.parametrize(
    "source",
    [
        "It costs $5 and $6",
        "$5, or US$ 10",
        "between $5-$6",
        "from $100 to US$200",
        "$20/month (or $15/month)",
        "**$5** vs **$10**",
        "echo $HOME:$PATH and $HOME/$USER",
        "($AAPL/$TSLA)",
        "$AAPL is up, $TSLA is down",
        "I have $20 in my wallet and my $ sign",
        "$1,000 and some more text$",
        "a $ b $ c",
        "\\$x\\$",
        "$",
        "$$",
        "$$$$",
        "Price range: $$–$$$",
        "$$ to $$$",
        "between $$ and $$",
        "Cheap ($), moderate ($$), expensive ($$$), luxury ($$$$)",
        "Legend:\n$$ – moderate\n$$$ – dear",
        "pay $5, or 5$ in Canada",
        "US$ 5 and 6$",
        "costs $5 and $10",
        "$5/day, 6$/night",
        "$5 и 6$",
        "花了$5或6$",
        "$$\n$$",
        "\\[\\]",
        "\\[\n\\]",
        "\\( \\)",
        "\\(see the notes below\\)",
        "\\[not a link\\]",
        "\\[1\\]",
        "`$x$`",
    ],
)
def test_no_formula(source: str) -> None:
    """Prices, tickers, variables and escaped brackets stay what they are."""
    assert "<math" not in render(source)
    assert "formula" not in render(source)


@pytest.mark.parametrize(
    "formula", [r"\frac{", r"\nosuchcommand x", r"x^{", r"\begin{array}a", "^" * 500, "x" * 5_000]
)
def test_source_of_what_cannot_be_typeset(formula: str) -> None:
    """A formula that the converter does not know is shown as it was written."""
    seen = Seen(render(f"$$\n{formula}\n$$"))
    assert "math" not in seen.tags
    assert formula in seen.text


def test_unclosed_formula_is_text() -> None:
    """Dollars that nothing closes swallow no more than their paragraph."""
    assert render("$$\na *b*\n\n# c") == (
        '<p dir="auto">$$\na <em>b</em></p>\n<h3 dir="auto">c</h3>\n'
    )


@pytest.mark.parametrize("name", ["aligned", "align*", "gathered", "split"])
def test_aligned_equations(name: str) -> None:
    """Equations under each other come out as rows, without stray marks."""
    html = typeset(f"\\begin{{{name}}}a &= b \\\\ c &= d\\end{{{name}}}", display=True)
    assert html is not None
    assert html.count("<mtr>") == 2
    assert "&amp;" not in html


def test_cases_and_matrices() -> None:
    """The environments that models use most are typeset."""
    for formula in (
        r"f(x) = \begin{cases} x & x > 0 \\ -x & \text{otherwise} \end{cases}",
        r"\begin{pmatrix} a & b \\ c & d \end{pmatrix}",
        r"\begin{bmatrix} 1 \\ 2 \end{bmatrix}",
        r"\int_0^\infty e^{-x^2}\,dx = \frac{\sqrt{\pi}}{2}",
        r"\sum_{i=1}^{n} i = \frac{n(n+1)}{2}",
        r"\lim_{x \to 0} \frac{\sin x}{x} = 1",
        r"\vec{F} = m\vec{a}, \quad \hat{y} \approx \bar{x}",
        r"P(A \mid B) = \frac{P(B \mid A)\,P(A)}{P(B)}",
        r"\mathbb{R}^n \subset \mathcal{H}, \forall \epsilon > 0",
        r"\left( \frac{a}{b} \right)^2 \text{ is positive}",
        r"\boxed{E = mc^2}",
        r"\underbrace{a + b}_{c}",
        r"\binom{n}{k} \cdot \dots \leq \ne \times",
    ):
        assert typeset(formula, display=True), formula


@given(st.text(alphabet=st.sampled_from("\\{}^_&$ab1 <>\"'+=()[]frcdleginta"), max_size=40))
def test_any_formula_ends_well(formula: str) -> None:
    """No formula raises, and what is typeset is well-formed and harmless."""
    html = typeset(formula, display=False)
    assert html is None or Seen(html).faults == []
