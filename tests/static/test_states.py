"""What the templates show of a state: no hue without a shape and a word."""

import re

import pytest
from django.conf import settings

TEMPLATES = settings.BASE_DIR / "templates"
#: A span with the hue of a reason or a state, and what stands in it first.
TONED = re.compile(r'<span class="(?:badge word|word (?:badge )?w-)[^>]*>\s*(<svg)?')
SHAPES = set(re.findall(r'id="([a-z]+)"', (settings.BASE_DIR / "static/img/shapes.svg").read_text("utf-8")))


def test_every_state_has_a_shape_before_its_text():
    told = {str(path.relative_to(TEMPLATES)): path.read_text("utf-8") for path in TEMPLATES.rglob("*.html")}
    toned = [(name, found[0], found[1]) for name, text in told.items() for found in TONED.finditer(text)]
    assert len(toned) > 4
    assert [(name, span) for name, span, shape in toned if not shape] == []


@pytest.mark.parametrize("part", ["webhooks/_webhook_status", "webhooks/_delivery_status", "alerts/_status"])
def test_the_shapes_of_states_are_drawn(part: str):
    text = (TEMPLATES / f"{part}.html").read_text("utf-8")
    named = set(re.findall(r'_state.html" with hue="[a-z]+" shape="([a-z]+)"', text))
    assert named
    assert named <= SHAPES
