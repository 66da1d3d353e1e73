"""Counts of a backtest: four certainties that add up, and what was stored before they were counted."""

from dataclasses import asdict
from types import SimpleNamespace

from dashboard.policies.backtests.models import Backtest
from dashboard.policies.backtests.presenters import group_view, view_of
from dashboard.policies.backtests.selectors import whys_of
from dashboard.policies.backtests.tallies import Group, Tally, TurnVerdict, added_up

TURN = SimpleNamespace(id="t", provider="openai", model="m")
BEFORE = {"provider": "openai", "model": "m", "same": 3, "undecidable": 1}


def tallied(*certainties: str) -> Tally:
    tally = Tally()
    for certainty in certainties:
        tally.count(TURN, TurnVerdict("undecidable" if certainty == "undecidable" else "flipped", certainty=certainty))
    return tally


def test_the_four_counts_add_up_to_all_turns():
    tally = tallied("recorded", "certain", "estimated", "estimated", "undecidable")
    whole = tally.total()
    assert (whole.recorded, whole.certain, whole.estimated, whole.undecidable) == (1, 1, 2, 1)
    assert sum(each.count for each in group_view(whole).sure) == whole.turns == 5
    assert [flip.certainty for flip in tally.flips] == ["recorded", "certain", "estimated", "estimated"]
    assert added_up([tally.as_json(), tally.as_json()]).total().estimated == 4


def test_counts_missing_from_older_results_are_unknown_and_not_zero():
    stored = Group.stored(BEFORE)
    assert (stored.recorded, stored.certain, stored.estimated) == (None, None, None)
    told = {each.words: each.count for each in group_view(stored).sure}
    assert told == {"certainty not known": 3, "not known": 1}


def test_an_unknown_part_makes_the_total_unknown():
    whole = added_up([{"groups": [BEFORE], "flips": []}, tallied("certain").as_json()]).total()
    assert (whole.same, whole.flipped, whole.certain) == (3, 1, None)


def test_reasons_of_undecidable_turns_add_up_and_name_the_first_turns():
    tally = Tally()
    for why in ("more_text", "output_at_cap", "more_text"):
        tally.count(TURN, TurnVerdict("undecidable", why=why))
    whole = added_up([tally.as_json(), tally.as_json(), tallied("certain").as_json()])
    assert whole.total().whys == {"more_text": 4, "output_at_cap": 2}
    assert [turn.why for turn in whole.undecided].count("output_at_cap") == 2


def test_reasons_not_counted_in_a_part_are_unknown_for_the_total():
    counted = tallied("undecidable").as_json()
    backtest = Backtest(groups=[*counted["groups"], BEFORE])
    assert added_up([counted, {"groups": [BEFORE], "flips": []}]).total().whys is None
    assert (whys_of(backtest), view_of(backtest, None).reasons) == (None, ())


def test_a_backtest_of_an_earlier_release_is_shown():
    flip = {"turn": "t", "ended": "completed", "ends": "retry_limit", "how": "sooner", "tokens": 0, "calls": 0}
    old = {"recorded": None, "certain": None, "estimated": None, "groups": [BEFORE], "flips": [flip]}
    shown = view_of(Backtest(same=3, undecidable=1, done=4, **old), None, flips=False)
    assert [each.name for each in shown.whole.sure] == ["unknown", "undecidable"]
    assert asdict(shown.groups[0].group)["recorded"] is None
