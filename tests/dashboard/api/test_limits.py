"""The limit that suffices and the versions of a policy, over the API."""

import pytest

from dashboard.policies.backtests import runner
from dashboard.policies.backtests.models import Backtest
from tests.dashboard.api.conftest import Program, said
from tests.dashboard.timeline.populations import make_turn

pytestmark = pytest.mark.django_db(transaction=True)

ENDED = {"status": "completed", "model_stop_reason": "end_turn", "attempts": 1, "last_seq": 3}
CUT = {**ENDED, "status": "partial", "model_stop_reason": "max_tokens"}
LIMITS = {"limits": {"max_continuations": 1}}


def test_the_smallest_sufficient_limit_is_estimated_and_unknowns_are_named(api: Program):
    for n in range(100):
        make_turn(output_tokens=10 + n * 370 % 1_000, model="short", **ENDED)
    make_turn(output_tokens=5_000, model="long", **CUT)
    short = api.get("/limits/estimate", model="short").json()
    assert (short["turns"], short["cut"], short["suffices"], short["undecided"]) == (100, 0, 965, 0)
    assert short["quantiles"][0] == {"complete": 0.5, "tokens": 500, "low": 400, "high": 600}
    long = api.get("/limits/estimate", model="long").json()
    assert (long["turns"], long["cut"], long["suffices"], long["undecided"]) == (1, 1, None, 1)
    assert long["words"]


def test_an_invalid_filter_is_refused_by_name(api: Program):
    assert set(said(api.get("/limits/estimate", colour="red", status="done"))) == {"colour", "status"}


def test_a_version_has_only_the_backtest_of_its_own_content(api: Program):
    backtest = api.post("/backtests", {"policy": LIMITS}).json()["id"]
    early = api.problem("/policies", {"name": "curt", **LIMITS, "backtest": backtest})
    assert "has not begun; wait for it" in early["backtest"]
    runner.run(Backtest.objects.get().id)
    made = api.post("/policies", {"name": "curt", **LIMITS, "activate": False, "backtest": backtest, "why": "tried"})
    assert (made.status_code, made.json()["backtest"]) == (201, backtest)
    other = {"name": "curt", "limits": {"max_continuations": 2}, "backtest": backtest}
    assert "used other settings" in api.problem("/policies", other)["backtest"]
    gone = {"name": "curt", **LIMITS, "backtest": "01a1fbc5-27eb-74dc-9e07-332dcdb1f422"}
    assert "There is no backtest" in api.problem("/policies", gone)["backtest"]
    assert "alone, not in place of “curt”" in api.problem("/policies", gone | {"backtest": backtest})["backtest"]
    assert api.get("/policies/curt").json()["backtest"] == backtest


def test_the_versions_of_a_policy_show_which_is_active(api: Program):
    api.post("/policies", {"name": "curt", **LIMITS, "why": "a start"})
    api.post("/policies", {"name": "curt", "limits": {"max_continuations": 3}})
    api.post("/policies", {"name": "curt", "limits": {"max_continuations": 5}, "activate": False})
    versions = api.get("/policies/curt/versions").json()
    assert [(row["version"], row["stands"]) for row in versions] == [(3, "draft"), (2, "active"), (1, "past")]
    assert versions[1]["changes"] == ["Max continuations: 1 continuation → 3 continuations"]
    assert (versions[2]["why"], versions[2]["created_by"], versions[2]["backtest"]) == ("a start", "bootstrap", None)
    assert api.get("/policies/nobody/versions").status_code == 404
