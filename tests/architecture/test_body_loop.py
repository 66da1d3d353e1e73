"""The gateway reads bodies of requests by one loop, so bounds of size and time are kept in one place."""

from pathlib import Path

GATEWAY = Path(__file__).parents[2] / "dashboard" / "gateway"


def test_the_gateway_reads_bodies_in_one_place():
    reading = [path.name for path in GATEWAY.rglob("*.py") if 'message.get("more_body")' in path.read_text("utf-8")]
    assert reading == ["request_body.py"]
