"""A provider that refuses a larger cap: what it says, and what is suggested instead."""

import pytest
from django.test import Client

from dashboard.agents.models import Connection
from dashboard.policies.suggestions.limit_trials import CapRefusal, refusal_in
from dashboard.policies.suggestions.panel import panel_of
from dashboard.policies.suggestions.selectors import suggestion_for
from dashboard.policies.suggestions.services import limit_find
from dashboard.policies.suggestions.suggestion import Basis, Suggestion
from dashboard.policies.suggestions.suggestion_text import because
from dashboard.policies.suggestions.sweep_suggestions import suggested_sweep
from dashboard.turns.models import Turn
from tests.dashboard.driving import Play, drive
from tests.dashboard.pages import compact, text_of
from tests.together import together

REFUSED = {
    "max_tokens is too large: 480. This model supports at most 120 completion tokens, whereas you provided 480.": 120,
    "Invalid 'max_output_tokens': integer above maximum value. Expected a value <= 120, but got 480 instead.": 120,
    "max_tokens: 480 > 120, which is the maximum allowed number of output tokens for claude-3-haiku-20240307": 120,
    "Unable to submit request because it has a maxOutputTokens value of 480 but the supported range is from 1 "
    "(inclusive) to 121 (exclusive). Update the value and try again.": 120,
    "The maximum tokens you requested exceeds the model limit of 120. Try again with a maximum tokens value that is "
    "lower than 120.": 120,
    "Malformed input request: #/max_tokens: 480 is not less or equal to 120, please reformat your input": 120,
    "Invalid max_tokens value, the valid range of max_tokens is [1, 120]": 120,
    "<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, 120]": 120,
    "`max_tokens` must be less than or equal to `120`, the maximum value for `max_tokens` is less than the "
    "`context_window` for this model": 120,
    "Input validation error: `max_new_tokens` must be <= 120. Given: 480": 120,
    "'max_tokens' or 'max_completion_tokens' is too large: 480. This model's maximum context length is 150 tokens and "
    "your request has 30 input tokens (480 > 150 - 30).": 120,
    "max_tokens is larger than this deployment allows": None,
    "max_tokens must be less than or equal to 9999": None,  # it does not explain the refusal
}
OTHERWISE = [
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    "This request requires more credits, or fewer max_tokens. You requested up to 480 tokens, but can only afford 120.",
    "Request too large: Limit 120 tokens per min. Reduce max_tokens.",
    "Invalid value for temperature: must be less than or equal to 2",
    "The server had an error.",
]


@together
@pytest.mark.parametrize("message", REFUSED)
def test_the_maximum_is_read_in_the_wording_of_each_vendor(message: str):
    assert refusal_in(message, 480) == CapRefusal(480, REFUSED[message])


@together
@pytest.mark.parametrize("message", OTHERWISE)
def test_an_unrelated_error_does_not_refuse_a_cap(message: str):
    assert refusal_in(message, 480) is None


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that takes at most 60 tokens a call, which no setting says."""
    monkeypatch.setattr("dashboard.simulator.dialects.request_reader.CEILING", 60)


def suggested(turn: Turn) -> Suggestion:
    said = suggestion_for(turn)
    assert said is not None
    return said


@pytest.mark.django_db(transaction=True)
def test_after_a_refused_cap_continuations_find_the_limit(play: Play, browser: Client, small: None):
    cut = play("sim-essay", max_tokens=60)
    Connection.objects.update(max_output_tokens=None)
    first = suggested(cut)
    assert (first.limit, first.basis) == ("max_tokens", Basis.NONE)
    refused = drive(limit_find(turn=cut, suggestion=first))
    assert (refused.status, refused.terminal_reason) == ("failed", "provider_error")
    said = suggested(cut)
    assert (said.limit, said.most) == ("max_continuations", 60)
    words = f"The provider refused Max tokens per call {first.value}: at most 60 is allowed."
    assert because(said).endswith(words)
    assert words in browser.get(f"/api/v1/turns/{cut.id}/verdict").json()["suggestion"]["words"]
    assert suggested_sweep(turn=cut, name="max_tokens", values=range(60, 61), overrides={}).suggested == ()
    page = browser.get(f"/turns/{cut.id}/limit", headers={"HX-Request": "true"}).content.decode()
    assert words in text_of(page)
    assert "Find the limit" in text_of(page)
    proven = drive(limit_find(turn=cut, suggestion=said))
    assert proven.status == "completed"
    assert (suggested(cut).limit, suggested(cut).basis) == ("max_continuations", Basis.RERUN)


@pytest.mark.django_db(transaction=True)
def test_the_page_offers_to_set_the_ceiling_and_keeps_the_result(play: Play, browser: Client, small: None):
    cut = play("sim-essay", max_tokens=60)
    Connection.objects.update(max_output_tokens=None)
    drive(limit_find(turn=cut, suggestion=suggested(cut)))
    panel = compact(browser.get(f"/turns/{cut.id}/limit", headers={"HX-Request": "true"}).content.decode())
    connection = Connection.objects.get()
    assert f"Set Max output tokens of {connection.name} to 60" in text_of(panel)
    form = compact(browser.get(f"/connections/{connection.name}?max_output_tokens=60").content.decode())
    assert 'name="max_output_tokens" value="60"' in form
    proven = drive(limit_find(turn=cut, suggestion=suggested(cut)))
    Connection.objects.update(max_output_tokens=60)
    cut.refresh_from_db()
    said = suggested(Turn.objects.get(pk=cut.pk))
    assert (said.limit, said.rerun) == ("max_continuations", proven.id)
    shown = panel_of(Turn.objects.get(pk=cut.pk))
    assert shown is not None
    assert shown.unset is None


@pytest.mark.django_db(transaction=True)
def test_a_refusal_without_a_number_also_leads_to_continuations(play: Play, small: None):
    cut = play("sim-essay", max_tokens=60)
    Connection.objects.update(max_output_tokens=None)
    first = suggested(cut)
    drive(limit_find(turn=cut, suggestion=first))
    cut.children.update(error_message="max_tokens is larger than this deployment allows")
    said = suggested(cut)
    assert (said.limit, said.refused, said.most) == ("max_continuations", first.value, None)
    assert because(said).endswith(f"The provider refused Max tokens per call {first.value}.")


@pytest.mark.django_db(transaction=True)
def test_continuations_come_next_where_the_connections_full_ceiling_was_not_enough(play: Play, small: None):
    cut = play("sim-essay", max_tokens=30)
    Connection.objects.update(max_output_tokens=60)
    cut = Turn.objects.get(pk=cut.pk)
    first = suggested(cut)
    assert (first.limit, first.value) == ("max_tokens", 60)
    assert drive(limit_find(turn=cut, suggestion=first)).status == "partial"
    assert suggested(Turn.objects.get(pk=cut.pk)).limit == "max_continuations"
