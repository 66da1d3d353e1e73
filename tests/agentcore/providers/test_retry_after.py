import pytest

from agentcore.providers.wire.retry_after import http_date, retry_after
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
def test_the_providers_wish_is_read_in_the_order_of_its_precision(headers, seconds):
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
def test_a_date_is_read_in_all_three_forms(text, seconds):
    assert http_date(text) == seconds
