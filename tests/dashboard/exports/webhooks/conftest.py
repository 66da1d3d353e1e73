"""Webhooks to a server that keeps what it is sent, and a worker's sender."""

import asyncio
from collections.abc import Callable, Iterator

import pytest

from dashboard.accounts.models import User
from dashboard.agents.selectors import project_default
from dashboard.exports.webhooks.models import Webhook
from dashboard.exports.webhooks.sender import Sender
from dashboard.exports.webhooks.services import webhook_create
from dashboard.live.transport import Transport
from tests.dashboard.recording_server import Receiver, receiving

WebhookOf = Callable[..., tuple[Webhook, str]]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


@pytest.fixture
def webhook_of(db: None, receiver: Receiver) -> WebhookOf:
    """A new webhook and its secret."""

    def make(**columns: object) -> tuple[Webhook, str]:
        by, _ = User.objects.get_or_create(username="maker")
        asked = {"name": "on-call", "url": f"{receiver.address}/hook?key=k", "events": ["turn.ended"], **columns}
        return webhook_create(project=project_default(), by=by, **asked)

    return make


def send() -> None:
    """What a worker sends until nothing is due."""

    async def look() -> None:
        async with Transport() as transport:
            sender = Sender(transport)
            await sender.look()
            while sender.is_busy:
                await sender.settled()
                await sender.look()

    asyncio.run(look())
