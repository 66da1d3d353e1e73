"""What was sent, or has nobody to read it any more, is not kept."""

import asyncio
from typing import Any

import pytest
from django.http import HttpResponse

from dashboard.runtime.django_handler import LeanHandler


async def test_sent_data_is_released():
    answer, sent = HttpResponse(b"x" * 100_000), b""

    async def send(message: dict[str, Any]) -> None:
        nonlocal sent
        sent += message.get("body", b"")

    await LeanHandler().send_response(answer, send)
    assert (len(sent), answer.content) == (100_000, b"")


async def test_unread_data_of_a_disconnected_client_is_released():
    answer, waits = HttpResponse(b"x" * 100_000), asyncio.Event()

    async def send(_message: dict[str, Any]) -> None:
        waits.set()
        await asyncio.Event().wait()

    sending = asyncio.create_task(LeanHandler().send_response(answer, send))
    await waits.wait()
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending
    assert answer.content == b""
