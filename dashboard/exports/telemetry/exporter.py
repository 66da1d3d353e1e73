"""Batches sent by a worker, beside all else that it does: no turn waits for an endpoint.

As OTLP/HTTP says: protobuf packed by gzip; what an endpoint refuses for good is counted and let go, all else is sent
again, later and later. A batch whose worker was killed is sent again; its spans have the same ids.
"""

import asyncio
import gzip
import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import structlog
from django.conf import settings
from django.utils import timezone
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from agentcore.providers.wire.retry_after import retry_after
from dashboard.exports.sending_loop import keep_sending
from dashboard.exports.telemetry import queue
from dashboard.exports.telemetry.measures import metrics
from dashboard.exports.telemetry.models import Destination, Queued
from dashboard.exports.telemetry.queue import Outcome
from dashboard.exports.telemetry.spans import traces
from dashboard.exports.telemetry.turn_data import TelemetryTurn, told_of
from dashboard.live.transport import Head, Transport, TransportError
from dashboard.platform.db_threads import in_database
from dashboard.platform.egress.keys import key_for
from dashboard.platform.fields import storable_text

log = structlog.get_logger(__name__)

LOOK_SECONDS = 2.0
SECONDS = 30.0  #: that an answer may take
KEPT_BYTES = 16 * 1024  #: of an answer
PROTOBUF = "application/x-protobuf"
TOO_LARGE = 413
#: Answers after which the same is never taken; of all others, one may be.
REFUSED = frozenset({400, 406, 411, 414, 415, 422, 501})

#: What is raised of a turn whose rows do not say what they should.
UNTELLABLE = (ValueError, LookupError, TypeError, AttributeError)
UNTOLD = "A turn could not be sent. The server log has the error."


class Exporter:
    """Sends what waits, each destination by itself, until it is cancelled."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._under_way = set[asyncio.Task[None]]()

    async def run(self) -> None:
        await keep_sending(self.look, every=LOOK_SECONDS, fault="telemetry_not_sent", under_way=self._under_way)

    async def look(self) -> None:
        """Begin to send what waits."""
        for destination in await in_database(queue.claim):
            task = asyncio.create_task(self._empty(destination))
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)

    async def settled(self) -> None:
        """Wait for all that is under way."""
        await asyncio.gather(*self._under_way)

    async def _empty(self, destination: Destination) -> None:
        """Batch by batch, until nothing waits, one fails, or the lease is about to end."""
        loop, size = asyncio.get_running_loop(), queue.BATCH
        until = loop.time() + queue.LEASE.total_seconds() / 3
        try:
            while loop.time() < until and (batch := await in_database(queue.next_of, destination, size)):
                told, outcome = await self._sent(destination, batch)
                if outcome.smaller and len(batch) > 1:
                    size = len(batch) // 2
                    continue
                await in_database(queue.settle, destination, batch, told, outcome)
                if outcome.again:
                    return
            await in_database(queue.release, destination)
        except Exception as error:  # it goes on when the lease is over
            log.warning("telemetry_not_sent", destination=destination.name, error=str(error))

    async def _sent(self, destination: Destination, batch: Sequence[Queued]) -> tuple[int, Outcome]:
        """How many turns the export had, and what became of it."""
        ids, until = [one.turn_id for one in batch], timezone.now()
        try:
            told = await in_database(told_of, ids, content=destination.content)
            if not told:
                return 0, Outcome()
            body, count = await asyncio.to_thread(_traces, told, destination)
        except UNTELLABLE:
            # Halved until it is alone: one that cannot be told keeps no other from being sent.
            log.exception("telemetry_not_built", destination=destination.name, turns=len(ids))
            return len(ids), Outcome(fault=UNTOLD, refused=len(ids), smaller=True)
        outcome = await self._post(destination, "/v1/traces", body, ExportTraceServiceResponse(), count)
        if destination.metrics and not (outcome.again or outcome.smaller or outcome.refused):
            measured = await asyncio.to_thread(_metrics, told, destination, until)
            also = await self._post(destination, "/v1/metrics", measured, ExportMetricsServiceResponse(), 0)
            if also.fault:
                outcome = Outcome(fault=f"Metrics were not accepted: {also.fault}")
        return len(told), _of_turns(outcome, turns=len(told), spans=count)

    async def _post(self, destination: Destination, path: str, body: bytes, answer: Any, whole: int) -> Outcome:
        """`whole`: how many spans there are; so many are refused at most."""
        url = destination.endpoint.rstrip("/") + path
        headers = {"Content-Type": PROTOBUF, "Content-Encoding": "gzip", "User-Agent": "Whystop", **_key(destination)}
        try:
            head, said = await self._transport.first_bytes(
                url, headers=headers, body=body, seconds=SECONDS, most=KEPT_BYTES
            )
        except TransportError as error:
            return Outcome(fault=storable_text(error.of_server), again=True)
        return _judged(head, said, answer, whole)


def _key(destination: Destination) -> dict[str, str]:
    """What opens the endpoint. Read now, and kept nowhere."""
    if destination.from_environment:
        return dict(settings.ENVIRONMENT.otlp.headers)
    key = key_for(destination.key_env, destination.endpoint)
    if key is None:
        return {}
    bearer = destination.key_header.lower() == "authorization"
    return {destination.key_header: f"Bearer {key}" if bearer else key}


def _instance(destination: Destination) -> str:
    return str(destination.project_id)


def _traces(told: Sequence[TelemetryTurn], destination: Destination) -> tuple[bytes, int]:
    """The packed export, and how many spans it has."""
    made = traces(told, instance=_instance(destination), content=destination.content)
    spans = len(made.resource_spans[0].scope_spans[0].spans)
    return gzip.compress(made.SerializeToString(), compresslevel=5), spans


def _metrics(told: Sequence[TelemetryTurn], destination: Destination, until: datetime) -> bytes:
    first = min(one.turn.started_at or one.turn.created_at for one in told)
    since = queue.since_of(destination, first)
    made = metrics(told, instance=_instance(destination), since=min(since, until), until=until)
    return gzip.compress(made.SerializeToString(), compresslevel=5)


def _judged(head: Head, said: bytes, answer: Any, whole: int) -> Outcome:
    if 200 <= head.status < 300:
        return _partly(said, answer, whole)
    words = f"The destination answered {head.status}."
    if head.status == TOO_LARGE:
        return Outcome(fault=words, refused=whole, smaller=True)
    if head.status in REFUSED:
        return Outcome(fault=words, refused=whole)
    return Outcome(fault=words, again=True, wait=retry_after(head.headers) or 0.0)


def _partly(said: bytes, answer: Any, whole: int) -> Outcome:
    """An answer that cannot be read is one of an endpoint that took everything."""
    try:
        answer.ParseFromString(said)
    except (DecodeError, RecursionError):
        return Outcome()
    partial = answer.partial_success
    rejected = getattr(partial, "rejected_spans", 0) or getattr(partial, "rejected_data_points", 0)
    words = f"The destination says: {storable_text(partial.error_message[:500])}" if partial.error_message else ""
    return Outcome(
        refused=min(max(0, int(rejected)), whole), fault=words or ("Some were rejected." if rejected else "")
    )


def _of_turns(outcome: Outcome, *, turns: int, spans: int) -> Outcome:
    """What was refused in turns, as many as so many spans make."""
    refused = min(turns, math.ceil(turns * outcome.refused / max(1, spans)))
    return replace(outcome, refused=refused)
