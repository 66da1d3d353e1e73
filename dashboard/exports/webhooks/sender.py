"""Deliveries sent, beside all else that a worker does: no turn waits for a webhook.

A try that was under way when its worker was killed is made again: a receiver knows a delivery by its `webhook-id`.
"""

import asyncio
import time
from collections import Counter
from uuid import UUID

import structlog
from django.utils import timezone

from agentcore.providers.wire.retry_after import retry_after
from dashboard.exports.sending_loop import keep_sending
from dashboard.exports.webhooks.delivery_creation import announce_all
from dashboard.exports.webhooks.delivery_queue import DeliveryQuota, Outcome, claim, settle
from dashboard.exports.webhooks.models import Delivery
from dashboard.exports.webhooks.secret import LostSecretError, opened, signature
from dashboard.live.transport import Transport, TransportError
from dashboard.metrics.counters import count_webhook_try
from dashboard.platform.db_threads import in_database

log = structlog.get_logger(__name__)

LOOK_SECONDS = 1.0
AT_ONCE = 40  #: tries of one worker: half to webhooks that answer quickly, half to all others
OF_QUICK, OF_OTHERS = 4, 2  #: at once to one webhook
QUICK_SECONDS = 2.0  #: in which a webhook's last try was answered
SECONDS = 15.0  #: that an answer may take
KEPT_BYTES = 4_096  #: of an answer


class Sender:
    """Announces events and sends what is due, until it is cancelled."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._under_way: dict[asyncio.Task[None], UUID] = {}  #: by the webhook that is asked
        self._quick: set[UUID] = set()  #: webhooks

    async def run(self) -> None:
        await keep_sending(self.look, every=LOOK_SECONDS, fault="webhooks_not_sent", under_way=self._under_way)

    async def look(self) -> None:
        """Make deliveries of events, and begin to send those that are due."""
        await in_database(announce_all)
        for wanted in (self._wanted(OF_QUICK, are_quick=True), self._wanted(OF_OTHERS, are_quick=False)):
            for delivery in await in_database(claim, wanted) if wanted.room > 0 else ():
                task = asyncio.create_task(self._send(delivery))
                self._under_way[task] = delivery.webhook_id
                task.add_done_callback(lambda done: self._under_way.pop(done, None))

    def _wanted(self, of_one: int, *, are_quick: bool) -> DeliveryQuota:
        asked = Counter(one for one in self._under_way.values() if (one in self._quick) == are_quick)
        busy = [webhook for webhook, many in asked.items() if many >= of_one]
        return DeliveryQuota(AT_ONCE // 2 - asked.total(), of_one, busy, list(self._quick), are_quick)

    @property
    def is_busy(self) -> bool:
        """Whether something is under way."""
        return bool(self._under_way)

    async def settled(self) -> None:
        """Wait for all that is under way."""
        await asyncio.gather(*self._under_way)

    async def _send(self, delivery: Delivery) -> None:
        outcome = await _tried(self._transport, delivery)
        is_quick = outcome.arrived and outcome.duration_ms < 1000 * QUICK_SECONDS
        (self._quick.add if is_quick else self._quick.discard)(delivery.webhook_id)
        count_webhook_try("arrived" if outcome.arrived else "failed")
        try:
            await in_database(settle, delivery.id, outcome)
        except Exception as error:  # it is tried again when its lease is over
            log.warning("webhook_result_not_stored", delivery=str(delivery.id), error=str(error))


async def _tried(transport: Transport, delivery: Delivery) -> Outcome:
    at, begun, body = timezone.now(), time.monotonic(), delivery.body.encode()
    headers = {"Content-Type": "application/json", "User-Agent": "Whystop", "webhook-id": delivery.name}
    headers["webhook-timestamp"] = str(int(at.timestamp()))

    def outcome(**more: object) -> Outcome:
        return Outcome(at, headers, round((time.monotonic() - begun) * 1000), **more)  # type: ignore[arg-type]

    try:
        secret = opened(bytes(delivery.webhook.sealed_secret))
    except LostSecretError as error:
        return outcome(fault=str(error), hopeless=True)
    headers["webhook-signature"] = signature(secret, named=delivery.name, timestamp=int(at.timestamp()), body=body)
    try:
        head, answer = await transport.first_bytes(
            delivery.webhook.url, headers=headers, body=body, seconds=SECONDS, most=KEPT_BYTES
        )
    except TransportError as error:
        return outcome(fault=error.of_server, hopeless=error.refused)
    return outcome(
        status=head.status,
        answer_headers=head.kept,
        answer=answer.decode("utf-8", "replace"),
        wait=retry_after(head.headers),
    )
