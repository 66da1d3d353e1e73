"""The colours of `tokens.css`, computed: text is legible in light and dark (WCAG 2.2 AA)."""

import math
import re
from itertools import product
from pathlib import Path

import pytest

from tests.together import together

CSS = Path(__file__).parents[2] / "static/css/tokens.css"
OKLCH = r"oklch\(([\d.]+)% ([\d.]+) ([\d.]+)\)"
PAIR = re.compile(rf"--([\w-]+): light-dark\({OKLCH}, {OKLCH}\)")
ALIAS = re.compile(r"--([\w-]+): var\(--([\w-]+)\);")

Colour = tuple[float, float, float]

GROUNDS = ["page", "card", "sunk"]
HUES = ["end", "cut", "limit", "tool", "block", "odd", "wait", "fact", "sure", "guess"]
SEGMENTS = ["seg1", "seg2", "seg3", "seg4"]
TEXTS = [
    *product(["ink", "soft", "faint", "accent", *HUES], GROUNDS),
    *((hue, f"{hue}-wash") for hue in HUES),
    *product(["ink", "soft"], [f"{hue}-wash" for hue in HUES] + SEGMENTS),
    ("accent", "accent-wash"),
    ("ink", "accent-wash"),
    ("accent-ink", "accent"),
]


def tokens() -> dict[str, tuple[Colour, Colour]]:
    css = CSS.read_text()
    found = {}
    for name, *numbers in PAIR.findall(css):
        light, dark = [tuple(map(float, numbers[i : i + 3])) for i in (0, 3)]
        found[name] = (light, dark)
    for name, other in ALIAS.findall(css):
        found.setdefault(name, found.get(other))
    return found


def luminance(colour: Colour) -> float:
    lightness, chroma, hue = colour[0] / 100, colour[1], math.radians(colour[2])
    a, b = chroma * math.cos(hue), chroma * math.sin(hue)
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    red = 4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short
    green = -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short
    blue = -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short
    clipped = [min(1.0, max(0.0, part)) for part in (red, green, blue)]
    return 0.2126 * clipped[0] + 0.7152 * clipped[1] + 0.0722 * clipped[2]


def contrast(one: Colour, other: Colour) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@together
@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(("text", "ground"), TEXTS)
def test_text_has_enough_contrast(text: str, ground: str, theme: int):
    assert contrast(tokens()[text][theme], tokens()[ground][theme]) >= 4.5


@together
@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("ground", ["page", "card"])
@pytest.mark.parametrize("line", ["edge", "accent"])
def test_the_border_of_a_control_has_enough_contrast(line: str, ground: str, theme: int):
    assert contrast(tokens()[line][theme], tokens()[ground][theme]) >= 3


@pytest.mark.parametrize("sheet", ["base", "layout", "components"])
def test_only_the_tokens_define_colours(sheet: str):
    css = CSS.with_name(f"{sheet}.css").read_text()
    assert not re.findall(r"oklch\(|rgb|hsl\(|#[0-9a-f]{3,8}\b(?=[^{]*;)", css)


def test_no_rule_takes_a_token_of_the_page_for_a_property_of_its_own():
    """A token always has a value: who gives `var()` another one for its absence means a property of another name."""
    tokens = set(re.findall(r"(--[\w-]+)\s*:", CSS.read_text()))
    taken = [
        f"{sheet.name}: {name}"
        for sheet in sorted(CSS.parent.glob("*.css"))
        for name in re.findall(r"var\((--[\w-]+),", sheet.read_text())
        if name in tokens
    ]
    assert not taken
