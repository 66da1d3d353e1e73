"""Buttons stand alike on all pages: the main one comes first, and one of several is chosen by one part."""

import re
from pathlib import Path

import pytest
from django.conf import settings

from tests.together import together

TEMPLATES = sorted((settings.BASE_DIR / "templates").rglob("*.html"))
#: The heading of a page with what can be done beside it.
TITLED = re.compile(r'<div class="titled">.*?</div>', re.DOTALL)


@together
@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_the_main_button_beside_a_heading_is_the_first(path: Path):
    for titled in TITLED.findall(path.read_text("utf-8")):
        buttons = re.findall(r'class="(btn[^"]*)"', titled)
        assert not [button for button in buttons[1:] if "primary" in button]


#: One of several links, marked as the current one.
CHOSEN = re.compile(r'"btn small"[^\n]{0,160}aria-current')


def test_choices_between_links_share_one_template():
    assert {path.name for path in TEMPLATES if CHOSEN.search(path.read_text("utf-8"))} == {"_choices.html"}
