"""An error of a call that was only observed: no policy of ours was asked, so none is said to have stopped the turn."""

import pytest
from django.test import Client

from agentcore.replay import fold
from agentcore.values import replace
from agentcore.why import derive
from dashboard.policies.suggestions.next_step import next_step_of
from dashboard.policies.suggestions.selectors import suggestion_for
from dashboard.turns.history import recording_of
from dashboard.turns.models import Turn
from tests.dashboard.ingest.logs.writing import chat_request, imported, lines
from tests.dashboard.pages import HTMX, page, text_of

pytestmark = pytest.mark.django_db(transaction=True)

MAY_RETRY = "Another program made this call, and may try it again: "
ERROR = {"error": {"message": "Slow down", "type": "rate_limit", "code": "rate_limit_exceeded"}}


@pytest.fixture
def refused(db: None) -> Turn:
    imported(lines({"request": chat_request(), "response": {"status_code": 429, "body": ERROR}}))
    return Turn.objects.get()


def words(html: str) -> str:
    return " ".join(text_of(html).split())


def test_no_surface_names_a_setting_that_would_have_retried_an_observed_call(refused: Turn, browser: Client):
    assert suggestion_for(refused) is None
    api = browser.get(f"/api/v1/turns/{refused.id}").json()
    panel = words(browser.get(f"/turns/{refused.id}/limit", headers=HTMX).content.decode())
    row = words(browser.get(f"/turns/limits?turn={refused.id}", headers=HTMX).content.decode())
    sweep = words(page(browser, f"/turns/{refused.id}/replay/sweep"))
    assert api["suggestion"] is None
    for told in (panel, row, sweep, api["verdict"]):
        assert "errors set to retry" not in told
        assert "were set to stop" not in told
    assert f"{MAY_RETRY}the error may be temporary." in panel
    assert f"{MAY_RETRY}the error may be temporary." in sweep


def test_the_wait_that_the_provider_asked_for_is_told_with_no_maximum_of_ours(refused: Turn):
    last = fold(recording_of(refused))[-1].after
    assert last.failure is not None
    assert last.failure.provider is not None
    failure = replace(last.failure, provider=replace(last.failure.provider, retry_after=600.0))
    step = next_step_of(refused, replace(last, failure=failure))
    assert step is not None
    assert step.advice == f"{MAY_RETRY}the provider asked to try again in 600 s."


def test_the_derivation_of_an_observed_error_names_no_custom_criterion(refused: Turn):
    assert "custom criterion" not in str(derive(recording_of(refused)))
