import pytest

from agentcore.providers.wire.retry_after import delay_in_message, http_date, retry_after
from tests.together import together

NOON = "Sun, 06 Nov 2026 12:00:00 GMT"


@together
@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after-ms": "0", "retry-after": "1"}, 1.0),
        ({"retry-after-ms": "soon", "retry-after": "7"}, 7.0),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "1e400"}, None),
        ({"retry-after": "1_000"}, None),
        ({"retry-after": "0x10"}, None),
        ({"retry-after": "\u0663"}, None),
        ({"retry-after": "5, 6"}, None),
        ({"retry-after": "9" * 400}, None),
        ({"retry-after-ms": "-4", "retry-after": "3"}, 3.0),
        ({"retry-after": "Sun, 06 Nov 2026 99:99:99 GMT", "date": NOON}, None),
        ({"retry-after": "Sun, 06 Nov 2026 12:00:30 GMT", "date": NOON}, 30.0),
        ({"retry-after": "Mon, 07 Nov 2026 12:00:00 GMT", "date": NOON}, 86400.0),
        ({"retry-after": "Sun, 06 Nov 2026 11:00:00 GMT", "date": NOON}, 0.0),
        ({"retry-after": "Sun, 06 Nov 2026 12:00:30 GMT"}, None),
        ({"retry-after": "Sun, 06 Nov 2026 12:00:30 GMT", "date": "today"}, None),
    ],
)
def test_the_retry_delay_is_read_from_the_most_precise_source(headers, seconds):
    assert retry_after(headers) == seconds


@together
@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784111777),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 784111777),
        ("Sun Nov  6 08:49:37 1994", 784111777),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("Thu, 29 Feb 2024 23:59:59 GMT", 1709251199),
        ("Fri, 01 Mar 2024 00:00:00 GMT", 1709251200),
        ("Wed, 31 Dec 2099 00:00:00 GMT", 4102358400),
        ("Thu, 01 Abc 1970 00:00:00 GMT", None),
        ("Thu, 32 Jan 1970 00:00:00 GMT", None),
        ("Thu, 00 Jan 1970 00:00:00 GMT", None),
        ("Thu, 01 Jan 1970 24:00:00 GMT", None),
        ("Thu, 01 Jan 1970 00:60:00 GMT", None),
        ("", None),
        ("120", None),
    ],
)
def test_a_date_is_read_in_all_three_formats(text, seconds):
    assert http_date(text) == seconds


@together
@pytest.mark.parametrize(
    ("message", "seconds"),
    [
        ("Rate limit reached for gpt-4o on requests per min. Please try again in 1s. Visit https://x.", 1.0),
        ("Limit 7000, Used 0, Requested ~12903. Please try again in 50.597142857s. Visit https://x.", 50.597142857),
        ("Please try again in 120ms.", 0.12),
        ("Please try again in 1m47.5854s.", 107.5854),
        ("Please try again in 2h3m0s", 7_380.0),
        ("Please try again in 6m0s.", 360.0),
        ("You exceeded your current quota. Please retry in 48.5s.", 48.5),
        ("have exceeded call rate limit of your current pricing tier. Please retry after 6 seconds.", 6.0),
        ("Try again in 1 second.", 1.0),
        ("Please try again in a moment.", None),
        ("Please try again in 5 minutes.", None),
        ("Please try again in 5minutes.", None),
        ("Please try again in -1s.", None),
        (f"Please try again in {'9' * 400}s.", None),
        ("Tokens are counted in 1s windows.", None),
        ("", None),
    ],
)
def test_a_delay_in_a_message_is_read_in_the_formats_providers_use(message: str, seconds: float | None):
    assert delay_in_message(message) == (None if seconds is None else pytest.approx(seconds))
