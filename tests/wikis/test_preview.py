"""What a preview would draw is known before a browser draws it."""

import pytest

from wikis.preview import drawn, safe_preview

SVG = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">'


def chain(steps: int, each: int, href: str = "href") -> str:
    parts = [f'<g id="p{n}">{f"""<use {href}="#p{n + 1}"/>""" * each}</g>' for n in range(steps)]
    return f'{SVG}{"".join(parts)}<g id="p{steps}"><rect/></g></svg>'


@pytest.mark.parametrize(
    ("source", "most"),
    [
        (f"{SVG}<rect/></svg>", 0),
        (f'{SVG}<g id="a"><rect/><rect/></g><use href="#a"/><use href="#b"/></svg>', 9),
        (f'{SVG}<symbol id="a"><rect/></symbol>{"""<use href="#a"/>""" * 100}</svg>', 400),
    ],
)
def test_a_picture_that_repeats_parts_is_counted(source: str, most: int) -> None:
    """As often as it draws them."""
    assert drawn(source) <= most
    assert safe_preview(source) == source


@pytest.mark.parametrize(
    "source",
    [
        chain(10, 10),
        chain(10, 10, "xlink:href"),
        chain(17, 2),
        f'{SVG}<g id="a"><use href="#a"/></g></svg>',
        f'{SVG}<g id="a"><use href="#b"/></g><g id="b"><use href="#a"/></g></svg>',
        chain(300, 1),
        # What HTML reads in another way than XML is counted at its worst.
        chain(10, 10).replace("<rect/>", "<p><rect/></p>"),
        chain(10, 10).replace("<rect/>", "<!--><rect/><!---->"),
        chain(10, 10).replace("<rect/>", "<![CDATA[</g>]]>"),
        chain(10, 10).replace("<use", "<USE"),
        chain(10, 10).replace("href", "HREF"),
        chain(10, 10).replace(" id=", " ID="),
        chain(10, 10).replace("href", "x:href").replace("<svg", '<svg xmlns:x="a"', 1),
        chain(10, 10).replace("<svg", "<!DOCTYPE svg><svg", 1),
        f"<body>{chain(10, 10)}<p>",
        chain(10, 10).replace("</svg>", ""),
        chain(10, 10).replace("/>", "></use>"),
        # The picture itself changes what is drawn.
        chain(10, 10)
        .replace("<use href=", '<use href="#none"><set attributeName="href" to=')
        .replace('"/>', '"/></use>'),
    ],
    ids=range(18),
)
def test_a_picture_that_grows_without_bound_repeats_nothing(source: str) -> None:
    """However it is written: a browser would be busy for good."""
    assert drawn(source) > 100_000
    shown = safe_preview(source)
    assert "<use " not in shown.lower()
    assert "<use/" not in shown.lower()
