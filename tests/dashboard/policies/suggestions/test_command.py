"""`manage.py replay`: verify and what-if in the terminal."""

import io
import json

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction

from dashboard.agents.limit_fields import LIMIT_FIELDS
from dashboard.replay.sweep_point import ends_in_words
from dashboard.replay.sweep_row import LIKELY, TRIED_AGAIN
from dashboard.replay.sweep_service import SWEPT
from dashboard.runtime.management.commands import replay
from dashboard.turns.endings import MAY_BE_CUT
from dashboard.turns.models import Record
from dashboard.turns.reason_looks import LOOKS
from tests.dashboard.driving import Play

pytestmark = pytest.mark.django_db(transaction=True)


def told(*words: str) -> str:
    out = io.StringIO()
    call_command("replay", *words, stdout=out)
    return out.getvalue()


def test_without_options_a_turn_is_verified(play: Play):
    turn = play("sim-essay", overrides={"max_tokens": 60})
    assert told(str(turn.id)).startswith("Replay verified: 5 records replayed, no differences.\n")


def test_the_missing_record_of_an_incomplete_turn_is_named(play: Play):
    turn = play("sim-essay", overrides={"max_tokens": 60})
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("ALTER TABLE turns_record DISABLE TRIGGER ALL")
        Record.objects.filter(turn_id=turn.id, seq=3).delete()
        cursor.execute("ALTER TABLE turns_record ENABLE TRIGGER ALL")
    out = io.StringIO()
    with pytest.raises(SystemExit):
        call_command("replay", str(turn.id), stdout=out)
    assert out.getvalue() == "Replay differs: record 3 of 5 is missing. Records that match: 2.\n"


def test_with_options_the_what_if_is_shown(play: Play):
    turn = play("sim-essay", overrides={"max_tokens": 150})
    lines = told(str(turn.id), "--max-tokens", "400").splitlines()
    assert lines[0] == "   recorded  [THINK] Call 1 of sim-essay: initial, 400 tokens"
    assert "Completed in 1 call." in lines
    assert any(line.startswith("Likely. It depends on assumptions") for line in lines)
    assert any(line.startswith("- The continued text takes ") for line in lines)


def test_every_limit_of_a_policy_is_an_option(play: Play):
    turn = play("sim-essay", overrides={"max_tokens": 150})
    for name, field in LIMIT_FIELDS.items():
        value = max(1, int(field.minimum))
        lines = told(str(turn.id), f"--{name.replace('_', '-')}", str(value)).splitlines()
        assert "Call 1 of sim-essay" in lines[0], name
    assert "[THINK]" in told(str(turn.id), "--max-seconds", "0.5")


def test_an_assumption_that_often_fails_is_marked(play: Play):
    turn = play("sim-essay", max_tokens=1000)
    asked = (str(turn.id), "--max-tokens", "100", "--max-continuations", "0")
    assert "In tests with providers for which this does not hold, 67 % of the estimates came true." in told(*asked)
    (assumed,) = [one for one in json.loads(told(*asked, "--json"))["assumes"] if one["name"] == "truncation"]
    assert assumed["came_true"] == 0.67


def test_the_json_output_equals_that_of_the_api(play: Play):
    turn = play("sim-essay", overrides={"max_tokens": 150})
    imagined = json.loads(told(str(turn.id), "--max-tokens", "400", "--json"))
    assert (imagined["status"], imagined["certainty"], imagined["endings"]) == ("completed", "estimated", [])
    assert imagined["assumes"][0].keys() == {"name", "low", "high", "source", "came_true"}
    swept = json.loads(told(str(turn.id), "--sweep", "max_continuations=0:5", "--json"))
    assert swept["certain"] == {"since": turn.continuations, "first": turn.continuations}
    assert json.loads(told(str(turn.id), "--json")) == {
        "verified": True, "divergence": None, "missing": [], "vouched_by": "here",
    }  # fmt: skip


def test_both_endings_are_shown_where_the_assumptions_decide(play: Play):
    turn = play("sim-essay", overrides={"max_tokens": 150})
    lines = told(str(turn.id), "--max-tokens", "100").splitlines()
    verdict = next(line for line in lines if line.startswith("Not known: two endings are possible"))
    assert "nothing is repeated: completed in" in verdict
    assert (
        "tokens are repeated at each seam: stopped at Max continuations (max_continuations) after 4 calls." in verdict
    )
    assert any(line.startswith("- A continuation repeats 0–") for line in lines)


def test_a_result_missing_from_the_recording_is_called_undecidable(play: Play):
    turn = play("sim-essay", overrides={"max_tokens": 60})
    lines = told(str(turn.id), "--max-tokens", "400").splitlines()
    assert any(line.startswith("not known  The recording ends here, and the model would have") for line in lines)
    assert any(line.startswith("Not known. The recording does not determine it.") for line in lines)


@pytest.mark.parametrize("given", ["nonsense", "01a1fbed-aba8-7701-99d1-643edbe4f3e2"])
def test_a_missing_turn_is_reported_in_a_sentence(given: str):
    with pytest.raises(CommandError, match="There is no turn"):
        told(given)


def test_invalid_numbers_are_refused_with_an_explanation(play: Play):
    turn = play("sim-essay")
    with pytest.raises(CommandError, match=r"max_tokens\) must be a whole number from 1 to 10,000,000"):
        told(str(turn.id), "--max-tokens", "0")


def test_a_sweep_is_a_table_that_names_the_smallest_value_that_completes(play: Play):
    turn = play("sim-essay", overrides={"max_tokens": 150})
    lines = told(str(turn.id), "--sweep", "max_continuations=0:5").splitlines()
    assert lines[0] == "Max continuations (max_continuations)"
    assert lines[1].split() == ["value", "how", "it", "ends", "certainty", "calls", "output", "tokens", "price"]
    assert len(lines) == 2 + 6 + 1 + 1
    assert lines[2 + turn.continuations].endswith("simulator, free  <- certain")
    assert lines[-2].startswith(
        f"Max continuations (max_continuations): certain to complete from {turn.continuations}. "
    )
    assert (
        lines[-1]
        == f"Recommended: Max continuations (max_continuations) {turn.continuations} ({turn.attempts} calls, recorded)"
    )


@pytest.mark.parametrize(
    ("sweep", "words"), [("max_tokens", "is not a sweep"), ("colour=1:2", "There is no limit “colour”")]
)
def test_an_invalid_sweep_is_refused_with_an_explanation(play: Play, sweep: str, words: str):
    turn = play("sim-essay")
    with pytest.raises(CommandError, match=words):
        told(str(turn.id), "--sweep", sweep)


def test_every_way_in_which_a_value_ends_fits_its_column():
    words = [ends_in_words("", limit) for limit in SWEPT] + [ends_in_words(word, None) for word in LOOKS]
    assert [word for word in (*words, LIKELY, TRIED_AGAIN, MAY_BE_CUT.name) if len(word) > replay.ENDS] == []
    assert [word for word in words if "_" in word] == []
