import json
from datetime import UTC, datetime, timedelta

import pytest

from agentcore.errors import ErrorType
from dashboard.tools.selectors import registry
from tests.dashboard.tools.calling import call
from tests.together import together

CLOCK = registry.get("current_time")


def test_the_time_is_given_in_utc():
    told = json.loads(call(CLOCK).content)
    assert set(told) == {"utc", "weekday"}
    assert abs(datetime.fromisoformat(told["utc"]) - datetime.now(UTC)) < timedelta(minutes=5)


def test_the_time_is_given_in_a_time_zone():
    told = json.loads(call(CLOCK, zone="Asia/Tokyo").content)
    assert datetime.fromisoformat(told["local"]).utcoffset() == timedelta(hours=9)
    assert datetime.fromisoformat(told["local"]) == datetime.fromisoformat(told["utc"])


@together
@pytest.mark.parametrize(
    "zone",
    ["Berlin", "berlin", "europe/berlin ", "CEST?", "", "../etc/passwd", "/etc/passwd", "Europe", "x" * 9_999, "\x00"],
)
def test_an_invalid_time_zone_is_answered_with_the_naming_scheme(zone: str):
    failed = call(CLOCK, zone=zone)
    assert failed.error is ErrorType.TOOL
    assert "There is no time zone" in failed.content
    assert "Europe/Berlin" in failed.content
    assert len(failed.content) < 500


def test_a_similar_time_zone_is_suggested():
    assert call(CLOCK, zone="tokyo").content.endswith("Did you mean Asia/Tokyo?")
    assert call(CLOCK, zone="New York").content.endswith("Did you mean America/New_York?")
