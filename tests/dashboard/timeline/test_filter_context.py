from datetime import UTC, datetime

from django.http import QueryDict

from dashboard.timeline.filter_context import presets
from dashboard.turns.filters import TimelineFilters

NOW = datetime(2026, 11, 21, 14, 37, 12, tzinfo=UTC)


def test_each_preset_is_read_back_as_its_time_range():
    read = {}
    for preset in presets(NOW):
        filters, errors = TimelineFilters.parse(QueryDict(preset.query))
        assert errors == {}
        read[preset.label] = (filters.since, filters.until)
    assert read["yesterday"] == (datetime(2026, 11, 20, tzinfo=UTC), datetime(2026, 11, 21, tzinfo=UTC))
    assert read["today"] == (datetime(2026, 11, 21, tzinfo=UTC), None)
    assert read["last hour"] == (datetime(2026, 11, 21, 13, 37, tzinfo=UTC), None)
