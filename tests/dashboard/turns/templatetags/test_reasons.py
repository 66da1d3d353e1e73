import re
from pathlib import Path

import pytest
from django.utils.safestring import mark_safe

from agentcore.reasons import NormalizedStopReason, StopReason, TurnStatus
from dashboard.turns.reason_looks import LOOKS, look_of, reason_label
from dashboard.turns.templatetags.reasons import reason
from tests.together import together

STATIC = Path(__file__).parents[4] / "static"


@together
@pytest.mark.parametrize("word", [*NormalizedStopReason, *StopReason, *TurnStatus])
def test_every_documented_value_has_a_style(word: str):
    assert word in LOOKS


def test_every_shape_is_drawn_and_every_hue_is_a_colour():
    drawn = set(re.findall(r'<symbol id="(\w+)"', (STATIC / "img/shapes.svg").read_text()))
    coloured = set(re.findall(r"\.w-(\w+) ", (STATIC / "css/components.css").read_text()))
    assert {look.shape for look in LOOKS.values()} == drawn
    assert {look.hue for look in LOOKS.values()} == coloured


def test_no_two_values_of_a_group_look_and_read_alike():
    for words in (NormalizedStopReason, StopReason, TurnStatus):
        assert len({look_of(word) for word in words}) == len(words)


def test_a_providers_own_value_is_unchanged_and_looks_unknown():
    assert (reason_label("eos_found"), look_of("eos_found").shape) == ("eos_found", "question")
    assert reason_label(None) == "unknown"


def test_a_reason_is_drawn_as_text_shape_and_colour():
    html = reason(NormalizedStopReason.MAX_TOKENS)
    assert 'class="word w-cut"' in html
    assert "shapes.svg#torn" in html
    assert ">max_tokens<" in html


@pytest.mark.parametrize("given", [{"word": "<script>"}, {"word": "error", "text": "<script>"}, {"word": None}])
def test_a_reason_is_never_markup_and_never_empty(given: dict[str, str | None]):
    html = reason(**given)
    assert "<script>" not in html
    assert "></span>" not in html


def test_a_missing_reason_is_unknown_in_its_text_and_in_its_title():
    assert 'title="unknown"' in reason(None)
    assert ">unknown<" in reason(None)


def test_a_text_that_is_markup_does_not_mark_up_other_texts():
    assert "<b>" in reason("error", text=mark_safe("<b>"))
    assert "<b>" not in reason("error", text="<b>")


def test_a_text_with_a_key_in_code_is_one_part_beside_the_symbol():
    drawn = reason("unknown", text=mark_safe("Max tokens per call (<code>max_tokens</code>)"))
    assert drawn.endswith("</svg><span>Max tokens per call (<code>max_tokens</code>)</span></span>")
