"""The range that a sweep opens on has the values that an estimate may name."""

from dataclasses import replace

import pytest
from django.test import Client

from dashboard.agents.models import Connection
from dashboard.replay.limit_controls import LimitControl
from dashboard.replay.sweep_range import usual_range
from dashboard.turns.models import Turn
from tests.dashboard.driving import Play
from tests.dashboard.pages import page, text_of

CAP = LimitControl("max_tokens", "Max tokens per call", "tokens", None, 1, 4_000)


@pytest.mark.parametrize(
    ("cap", "used", "most"),
    [
        (500, 64, 1_000),
        (60, 240, 480),
        (None, 64, 256),  # the log named no cap, and its tokens may be fewer than its text suggests
        (None, 0, 2),
    ],
)
def test_a_sweep_of_the_cap_goes_well_beyond_cap_and_use(cap: int | None, used: int, most: int):
    values = usual_range(Turn(max_tokens=cap, output_tokens=used), CAP)
    assert most - values.step < values[-1] <= most


def test_a_sweep_goes_beyond_the_value_that_the_page_names():
    assert usual_range(Turn(max_tokens=None, output_tokens=64), CAP, beyond=1_200)[-1] > 1_200


@pytest.mark.parametrize(("cap", "ceiling"), [(100, 300), (300, 300), (4_096, 120), (20, 1), (500, 5_000)])
def test_a_sweep_of_the_cap_ends_where_the_connection_lets_no_call_ask_for_more(cap: int, ceiling: int):
    values = usual_range(Turn(max_tokens=cap, output_tokens=64), replace(CAP, most=ceiling), beyond=ceiling)
    assert min(ceiling, cap) - values.step < values[-1] <= ceiling


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("ceiling", "cap", "today"), [(300, 100, 300), (300, 300, 300), (400, 400, 80)])
def test_the_page_of_a_sweep_opens_with_a_table_where_the_connection_has_a_ceiling(
    play: Play, connection: Connection, browser: Client, ceiling: int, cap: int, today: int
):
    Connection.objects.update(max_output_tokens=ceiling)
    connection.refresh_from_db()
    turn = play("sim-essay", connection=connection, max_tokens=cap)
    Connection.objects.update(max_output_tokens=today)
    html = page(browser, f"/turns/{turn.id}/replay/sweep")
    assert "may request at most" not in text_of(html)
    assert f"max_tokens={cap}" in html
    assert f'name="end" value="{today}"' in html
