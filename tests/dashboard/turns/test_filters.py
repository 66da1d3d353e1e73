from datetime import UTC, datetime

import pytest
from django.http import QueryDict

from dashboard.turns.filter_names import filter_named
from dashboard.turns.filters import FILTER_NAMES, TimelineFilters, unknown_filters

MOMENT = datetime(2026, 11, 20, 14, 30, tzinfo=UTC)


def parse(query: str) -> TimelineFilters:
    filters, errors = TimelineFilters.parse(QueryDict(query))
    assert errors == {}
    return filters


def test_an_empty_query_is_no_filter():
    assert parse("") == TimelineFilters()
    assert parse("status=&q=+&since=&cursor=x&limit=5") == TimelineFilters()
    assert TimelineFilters().as_dict() == {}


def test_a_filter_may_have_several_values_each_once():
    assert parse("status=failed&status=partial&status=failed").status == ("failed", "partial")


def test_a_mapping_reads_like_a_query():
    filters, errors = TimelineFilters.parse({"status": ["failed"], "model": "m", "q": "rivers", "since": None})
    assert (filters, errors) == (TimelineFilters(status=("failed",), model=("m",), q="rivers"), {})


@pytest.mark.parametrize(
    "since",
    [
        "2026-11-20T14:30:00Z",
        "2026-11-20T14:30",
        "2026-11-20 14:30",
        "2026-11-20T15:30:00%2B01:00",
        "2026-11-20T15:30:00+01:00",
    ],
)
def test_a_time_is_read_in_utc_with_or_without_an_escaped_plus(since: str):
    assert parse(f"since={since}").since == MOMENT


def test_a_time_before_all_turns_is_the_earliest_time():
    assert parse("since=0001-01-01").since == datetime(1970, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"status": "done"}, "Status must be one of queued, running, held, completed, "),
        ({"not_status": "done"}, "Not Status (not_status) must be one of queued, "),
        ({"since": "yesterday"}, "From (since) must be a date or time such as 2026-11-20 or "),
        ({"until": "9999-12-31T23:59:59-23:00"}, "To (until) must be a date or time"),
        ({"q": 5}, "Words (q) must be text, or a list of texts."),
        ({"q": "a\x00"}, "Words (q) must have at most 500 characters, and no U+0000."),
        ({"model": "m" * 501}, "Model must have at most 500 characters"),
        ({"model": ["m"] * 51}, "Model has 51 values; at most 50 are looked for at once."),
        ({"error_type": "bad"}, "Error (error_type) must be one of tool, model, "),
        ({"tokens_from": "-1"}, "Tokens at least (tokens_from) must be a whole number such as 2000, not “-1”."),
        ({"duration_to": "1e3"}, "Took at most (duration_to) must be a whole number of milliseconds, such as 2000,"),
        ({"duration_to": "²"}, "Took at most (duration_to) must be a whole number"),
        ({"duration_to": True}, "Took at most (duration_to) must be text"),
        (
            {"tokens_from": 9, "tokens_to": 8},
            "Tokens at most (tokens_to) must not be less than Tokens at least (tokens_from).",
        ),
        ({"since": "2026-11-20", "until": "2026-11-20"}, "To (until) must be later than From (since)"),
    ],
)
def test_unreadable_parts_are_reported_and_ignored(given: dict, words: str):
    filters, errors = TimelineFilters.parse(given)
    assert list(errors) == list(given)[-1:]
    assert errors[list(given)[-1]].startswith(words)
    assert filters.status == filters.model == ()


def test_every_filter_has_a_name_that_a_sentence_about_it_begins_with():
    for name in FILTER_NAMES:
        _, errors = TimelineFilters.parse({name: True})
        assert errors[name] == f"{filter_named(name)} must be text, or a list of texts."
        assert not errors[name].startswith(name)


def test_written_filters_read_back():
    words = "status=failed&not_status=held&not_tag=seen&has=repair&tag=x&error_type=tool&q=a+b&agent=x&agent=y"
    filters = parse(f"{words}&tokens_from=0&tokens_to=9&duration_to=0&since=2026-11-20&until=2026-11-21")
    assert TimelineFilters.parse(filters.as_dict()) == (filters, {})


def test_a_misspelled_name_is_reported():
    assert unknown_filters([*FILTER_NAMES, "limit"], beside=("limit",)) == {}
    assert list(unknown_filters(["stopreason"])) == ["stopreason"]


def test_a_number_may_be_numeric_and_a_very_large_one_equals_the_maximum():
    filters, errors = TimelineFilters.parse({"tokens_from": 5, "tokens_to": ["9" * 40], "duration_from": None})
    assert (filters, errors) == (TimelineFilters(tokens_from=5, tokens_to=2**63 - 1), {})
