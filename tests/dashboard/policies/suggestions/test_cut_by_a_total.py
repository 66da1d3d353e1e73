"""An answer that the rest of a total cut: verdict, panel, row, API and sweep name the total."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from dashboard.simulator.scripts import SCRIPTS, Answer
from tests.dashboard.driving import Play
from tests.dashboard.policies.suggestions.test_cut_below_the_cap import surfaces

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def long(play: Play) -> Iterator[Any]:
    """Makes a turn whose answers are as long as each call lets them be, up to 60 tokens."""
    SCRIPTS.put("long", [Answer(" ".join(f"part{n}word{i}" for i in range(200))) for n in range(6)])
    yield lambda **limits: play("script-long", max_tokens=60, overrides={"limits": limits})
    SCRIPTS.delete("long")


def test_where_the_rest_of_a_total_cut_the_last_call_every_surface_names_the_total(long: Any, browser: Client):
    turn = long(max_continuations=1, max_total_completion_tokens=80)
    assert turn.verdict.startswith(
        "Cut off by Max tokens per call (max_tokens), then by Max completion tokens per turn "
        "(max_total_completion_tokens), which left 20 tokens for the last call, and stopped at Max continuations "
    )
    said, panel, row, sweep = surfaces(browser, turn)
    assert said["limit"] == "max_total_completion_tokens"
    assert said["overrides"]["limits"]["max_continuations"] > 1
    assert said["words"] in panel
    assert "Max completion tokens per turn" in row
    assert '<option value="max_total_completion_tokens" selected>' in sweep
