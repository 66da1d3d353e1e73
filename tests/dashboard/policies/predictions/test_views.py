"""The page of the track record, and the line beside a what-if."""

import re
from html import unescape

import pytest
from django.test import Client

from agentcore.replay import Certainty
from dashboard.accounts.models import User
from dashboard.policies.predictions import outcome_comparison
from dashboard.policies.predictions.models import Prediction
from dashboard.policies.predictions.record_text import record_words, share
from dashboard.policies.predictions.selectors import Tally
from dashboard.policies.predictions.templatetags.predictions import track_record
from dashboard.turns.models import Turn
from tests.dashboard.driving import drive
from tests.dashboard.pages import page
from tests.dashboard.policies.predictions.conftest import again_of
from tests.dashboard.policies.predictions.test_failure_check import failed

pytestmark = pytest.mark.django_db(transaction=True)

ADDRESS = "/backtests/track-record"


def bare(html: str) -> str:
    """The words of a page, without its tags."""
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", html)))


@pytest.fixture
def watcher(db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_user("watcher"))
    return client


def test_without_predictions_the_page_says_how_to_get_some(browser: Client):
    html = bare(page(browser, ADDRESS))
    assert "No predictions yet." in html
    assert "manage.py calibrate" in html


def test_predictions_are_counted_by_model_and_certainty(browser: Client, cut: Turn):
    again_of(cut, {"limits": {"max_continuations": 9}})
    again_of(cut, {"limits": {"max_continuations": 8}})
    html = page(browser, ADDRESS)
    row = re.search(r"<tr><th scope=\"row\">sim-essay.*?</tr>", html, re.DOTALL)
    assert row is not None
    assert "2 of 2" in bare(row[0])
    assert "%" not in bare(row[0]), "two are too few for a share"


def test_a_failed_certain_prediction_is_shown_separately_with_both_turns_and_a_check(browser: Client, cut: Turn):
    prediction = failed(cut)
    html = page(browser, ADDRESS)
    assert "Recorded and certain predictions that failed" in html
    assert f"/compare?left={prediction.parent_id}&amp;right={prediction.child_id}" in html
    assert "terminal reason: predicted repetition, was completed" in bare(html)
    assert "The reason is not known yet." in bare(html)
    offered = f'action="{ADDRESS}/{prediction.id}/check"'
    assert offered in html
    answer = browser.post(f"{ADDRESS}/{prediction.id}/check")
    assert answer["location"] == ADDRESS
    check = Prediction.objects.get(kind="check")
    assert "Re-run under the recorded policy; waiting for" in bare(page(browser, ADDRESS))
    drive(check.child)
    outcome_comparison.sweep()
    html = page(browser, ADDRESS)
    assert "either Whystop was wrong, or the provider answers differently" in bare(html)
    assert f"/compare?left={prediction.parent_id}&amp;right={check.child_id}" in html
    assert offered not in html, "a failure that was checked offers no second check"


def test_a_watcher_can_read_and_starts_no_check(watcher: Client, browser: Client, cut: Turn):
    prediction = failed(cut)
    assert "Recorded and certain predictions that failed" in page(watcher, ADDRESS)
    assert watcher.post(f"{ADDRESS}/{prediction.id}/check").status_code == 403
    assert not Prediction.objects.filter(kind="check").exists()


def test_a_missing_prediction_is_404(browser: Client):
    assert browser.post(f"{ADDRESS}/00000000-0000-0000-0000-000000000000/check").status_code == 404


def test_a_pointless_check_is_refused_with_an_explanation(browser: Client, cut: Turn):
    prediction = again_of(cut, {"limits": {"max_continuations": 9}})
    browser.post(f"{ADDRESS}/{prediction.id}/check")
    assert "Only a failed certain prediction" in page(browser, ADDRESS)


def test_backtests_link_to_the_track_record(browser: Client):
    assert f'href="{ADDRESS}"' in page(browser, "/backtests")


def test_the_what_if_page_shows_the_models_track_record(browser: Client, cut: Turn):
    html = page(browser, f"/turns/{cut.id}/replay?max_tokens=100")
    assert "compared with live re-runs yet." in bare(html)
    assert f'href="{ADDRESS}"' in html


@pytest.mark.parametrize(
    ("came_true", "compared", "said"),
    [(19, 19, ""), (0, 0, ""), (20, 20, "100 %"), (199, 200, "99 %"), (999, 1000, "99 %"), (0, 20, "0 %")],
)
def test_a_share_claims_no_more_than_the_counts_support(came_true: int, compared: int, said: str):
    assert share(came_true, compared) == said


def test_the_track_record_of_a_model_is_one_sentence():
    tally = Tally(Certainty.ESTIMATED, predictions=50, came_true=37, failed=4)
    assert record_words(tally) == "“Likely” what-ifs for this model came true 37 of 41 times (90 %)."
    few = Tally(Certainty.CERTAIN, predictions=3, came_true=3)
    assert record_words(few) == "“Certain” what-ifs for this model came true 3 of 3 times."
    none = Tally(Certainty.ESTIMATED)
    assert record_words(none) == "“Likely” what-ifs for this model have not been compared with live re-runs yet."


def test_a_certainty_without_comparisons_says_so(cut: Turn):
    again_of(cut, {"limits": {"max_continuations": 9}})
    assert track_record(cut, "recorded")["sentences"] == ["“Recorded” what-ifs for this model came true 1 of 1 times."]
    assert track_record(cut, "estimated")["sentences"] == [
        "“Likely” what-ifs for this model have not been compared with live re-runs yet."
    ]
