"""What a browser gets of a static file: all of it, or the part it asks for."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from dashboard.runtime.static_files import with_static_files

SMALL = Path(settings.BASE_DIR / "static" / "css" / "turn.css")


@pytest.fixture(scope="module")
def application() -> Any:
    async def nothing(*_: Any) -> None:
        raise AssertionError("Django was asked.")

    return with_static_files(nothing)


def asked(application: Any, name: str, method: str = "GET", **headers: str) -> tuple[int, list[bytes]]:
    """The status of the answer, and the parts in which its body is sent."""
    sent: list[dict[str, Any]] = []

    async def send(event: dict[str, Any]) -> None:
        sent.append(event)

    named = [(key.encode(), value.encode()) for key, value in headers.items()]
    scope = {"type": "http", "method": method, "path": f"/static/{name}", "query_string": b"", "headers": named}
    asyncio.run(application(scope, None, send))
    assert [event.get("more_body", False) for event in sent[1:]] == [True] * (len(sent) - 2) + [False]
    return sent[0]["status"], [event["body"] for event in sent[1:]]


def test_a_file_is_sent_whole_and_a_large_one_in_parts(application: Any):
    assert asked(application, "css/turn.css") == (200, [SMALL.read_bytes()])
    status, parts = asked(application, "ninja/swagger-ui-bundle.js")
    assert status == 200
    assert {len(part) for part in parts[:-1]} == {65_536}
    assert sum(len(part) for part in parts) > 500_000


@pytest.mark.parametrize(("part", "begin", "end"), [("0-9", 0, 10), ("100-", 100, None), ("-7", -7, None)])
def test_a_requested_range_is_sent(application: Any, part: str, begin: int, end: int | None):
    assert asked(application, "css/turn.css", range=f"bytes={part}") == (206, [SMALL.read_bytes()[begin:end]])


def test_a_head_request_gets_no_body(application: Any):
    assert asked(application, "css/turn.css", "HEAD") == (200, [b""])


def test_an_empty_file_ends_its_response(application: Any, tmp_path: Path):
    (tmp_path / "empty.css").touch()
    application.add_files(str(tmp_path), prefix="/static/")
    assert asked(application, "empty.css") == (200, [b""])
