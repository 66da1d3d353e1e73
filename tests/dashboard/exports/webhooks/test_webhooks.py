"""What happens to turns told to other programs: signed, tried again, given up, sent again."""

import asyncio
import base64
import functools
import hashlib
import hmac
import json
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection, transaction
from django.test import Client, override_settings
from django.utils import timezone

from dashboard.exports.webhooks import delivery_queue
from dashboard.exports.webhooks.delivery_creation import announce, announce_all
from dashboard.exports.webhooks.models import MOST_EVENTS, Delivery, Happened, Try, Webhook
from dashboard.exports.webhooks.secret import signature
from dashboard.exports.webhooks.sender import AT_ONCE, Sender
from dashboard.exports.webhooks.services import delivery_again, webhook_enable, webhook_new_secret, webhook_test
from dashboard.live.services import turn_control, turn_start
from dashboard.live.transport import Transport
from dashboard.platform.db_threads import in_database
from dashboard.platform.egress.rules import Rules
from dashboard.timeline.services import turns_erase
from dashboard.turns.models import Turn
from tests.dashboard.api.test_timeline import make_turns
from tests.dashboard.driving import AgentOf, Play, drive
from tests.dashboard.exports.webhooks.conftest import WebhookOf, send
from tests.dashboard.ingest.turn_files.test_services import brought, erase, exported
from tests.dashboard.pages import compact
from tests.dashboard.policies.predictions.conftest import again_of
from tests.dashboard.raw_server import raw_server
from tests.dashboard.recording_server import Receiver

pytestmark = pytest.mark.django_db(transaction=True)


OTHERS = delivery_queue.DeliveryQuota(10, 2, busy=[], quick=[], are_quick=False)


def due() -> None:
    """As if the pause before the next try were over."""
    Delivery.objects.filter(state="waiting").update(next_at=timezone.now() - timedelta(seconds=1))


def told(receiver: Receiver) -> list[dict]:
    return [json.loads(request.body) for request in receiver.requests]


def test_the_signature_matches_the_example_of_the_specification():
    made = signature(
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        named="msg_p5jXN8AQM9LWM0D4loKWxJek",
        timestamp=1614265330,
        body=b'{"test": 2432232314}',
    )
    assert made == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_an_ended_turn_is_sent_once_and_signed(play: Play, webhook_of: WebhookOf, receiver: Receiver):
    _, secret = webhook_of()
    turn = play("sim-essay", max_tokens=60)
    send()
    send()
    (request,) = receiver.requests
    key = base64.b64decode(secret.removeprefix("whsec_"))
    content = f"{request.headers['webhook-id']}.{request.headers['webhook-timestamp']}.".encode() + request.body
    expected = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
    assert request.headers["webhook-signature"] == f"v1,{expected}"
    assert abs(int(request.headers["webhook-timestamp"]) - timezone.now().timestamp()) < 60
    body = json.loads(request.body)
    assert (request.path, body["type"], body["data"]["path"]) == ("/hook?key=k", "turn.ended", f"/turns/{turn.id}")
    assert body["data"]["turn"]["stop_reason"] == turn.stop_reason
    assert turn.output_text not in request.body.decode()
    assert list(Delivery.objects.values_list("state", "tried")) == [("delivered", 1)]
    assert Try.objects.get().answer == "seen"


def test_an_event_is_stored_with_its_cause_or_not_at_all(webhook_of: WebhookOf, receiver: Receiver):
    webhook_of()
    with transaction.atomic():
        make_turns("a", status="completed")
        transaction.set_rollback(True)
    assert not Happened.objects.exists()
    make_turns("a", status="completed")
    assert Happened.objects.count() == 1


def test_nothing_is_stored_while_no_webhook_is_enabled(webhook_of: WebhookOf):
    make_turns("a", status="completed")
    Webhook.objects.filter(id=webhook_of()[0].id).update(enabled=False)
    make_turns("a", status="completed")
    assert not Happened.objects.exists()


def test_filters_pass_turns_that_match_every_group(webhook_of: WebhookOf, receiver: Receiver):
    webhook_of(statuses=["partial", "failed"], stop_reasons=["retry_limit"])
    make_turns("a", status="completed", stop_reason="retry_limit")
    make_turns("a", status="partial", stop_reason="token_limit")
    (expected,) = make_turns("a", status="failed", stop_reason="retry_limit")
    send()
    assert [body["data"]["turn"]["id"] for body in told(receiver)] == [expected]


def test_a_pending_approval_is_sent_and_a_breakpoint_is_not(
    agent_of: AgentOf, webhook_of: WebhookOf, receiver: Receiver
):
    webhook_of(events=["approval.wanted"])
    agent = agent_of("sim-tools", tools=["calculator"], approvals={"tools": ["calculator"]})
    turn = drive(turn_start(agent=agent, input_text="Count."))
    other = agent_of("sim-essay")
    drive(turn_start(agent=other, input_text="Why?", breakpoints=[{"stop_reason": "max_tokens"}]))
    send()
    (body,) = told(receiver)
    assert [body["type"], body["data"]["tools"]] == ["approval.wanted", ["calculator"]]
    turn_control(turn=turn, by="ada", action="release")
    drive(turn)
    send()
    assert len(receiver.requests) == 1


def test_a_failed_prediction_is_sent(play: Play, webhook_of: WebhookOf, receiver: Receiver):
    webhook_of(events=["prediction.failed"])
    fresh = again_of(play("sim-essay", overrides={"max_tokens": 150}), {"max_tokens": 90})
    send()
    assert not receiver.requests
    with connection.cursor() as cursor:  # as when it came out otherwise; the database keeps what was compared
        cursor.execute("ALTER TABLE predictions_prediction DISABLE TRIGGER refuse_update")
        cursor.execute("UPDATE predictions_prediction SET came_true = false WHERE id = %s", [fresh.id])
        cursor.execute("ALTER TABLE predictions_prediction ENABLE TRIGGER refuse_update")
    send()
    (body,) = told(receiver)
    assert [body["type"], body["data"]["prediction"]["id"]] == ["prediction.failed", str(fresh.id)]
    assert body["data"]["turn"]["id"] == str(fresh.child_id)


def test_an_imported_turn_is_not_sent(play: Play, webhook_of: WebhookOf, receiver: Receiver):
    turn = play("sim-essay", max_tokens=60)
    file = exported(turn)
    erase(turn)
    webhook_of()
    brought(file)
    assert Happened.objects.exists()
    send()
    assert not receiver.requests


def test_a_failure_is_retried_with_the_same_id_and_a_new_time(webhook_of: WebhookOf, receiver: Receiver):
    webhook_of()
    receiver.answers += [(500, {}), (503, {"retry-after": "4000"})]
    make_turns("a", status="completed")
    send()
    first = Delivery.objects.get()
    assert (first.state, first.tried) == ("waiting", 1)
    assert 3 < (first.next_at - timezone.now()).total_seconds() < 7
    send()
    assert len(receiver.requests) == 1
    due()
    send()
    assert 3_900 < (Delivery.objects.get().next_at - timezone.now()).total_seconds() < 4_001
    due()
    send()
    assert Delivery.objects.get().state == "delivered"
    assert len({request.headers["webhook-id"] for request in receiver.requests}) == 1
    assert [one.status for one in Try.objects.all()] == [500, 503, 200]


def test_an_undeliverable_event_is_given_up_and_can_be_sent_again(webhook_of: WebhookOf, receiver: Receiver):
    webhook, _ = webhook_of()
    make_turns("a", status="completed")
    receiver.answers += [(500, {})] * (len(delivery_queue.DELAYS) + 1)
    for _ in range(len(delivery_queue.DELAYS) + 1):
        due()
        send()
    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.next_at) == ("dead", None)
    webhook.refresh_from_db()
    assert (webhook.enabled, webhook.failed_in_row) == (True, 1)
    assert delivery_again(delivery)
    assert not delivery_again(delivery)
    send()
    delivery.refresh_from_db()
    webhook.refresh_from_db()
    assert (delivery.state, webhook.failed_in_row) == ("delivered", 0)


def test_a_webhook_whose_deliveries_all_fail_is_disabled_with_a_message(
    webhook_of: WebhookOf, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(delivery_queue, "DELAYS", ())
    webhook, _ = webhook_of()
    receiver.answers += [(500, {})] * (delivery_queue.GIVEN_UP + 1)
    make_turns(*["a"] * (delivery_queue.GIVEN_UP + 1), status="completed")
    send()
    send()
    webhook.refresh_from_db()
    assert not webhook.enabled
    assert webhook.disabled_because.endswith("The last time: The answer was 500.")
    waiting = Delivery.objects.filter(state="waiting").count()
    send()
    assert Delivery.objects.filter(state="waiting").count() == waiting
    webhook_enable(webhook)
    send()
    assert not Delivery.objects.filter(state="waiting").exists()


def test_an_address_that_answers_gone_is_not_called_again(webhook_of: WebhookOf, receiver: Receiver):
    webhook, _ = webhook_of()
    receiver.answers.append((410, {}))
    webhook_test(webhook)
    send()
    webhook.refresh_from_db()
    assert webhook.disabled_because == "Disabled: its address answered 410 (gone)."


def test_a_redirect_is_not_followed(webhook_of: WebhookOf, receiver: Receiver):
    webhook_test(webhook_of()[0])
    receiver.answers.append((302, {"location": f"{receiver.address}/elsewhere"}))
    send()
    assert [request.path for request in receiver.requests] == ["/hook?key=k"]
    assert Try.objects.get().status == 302


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nx-request-id: \xff\xfe\r\ncontent-length: 4\r\n\r\n\x00\xff\x00a",
        b"HTTP/1.1 200 OK\r\nbroken\x00 header \xff\r\n\r\n",
        b"\x00\xff\xfe nothing of the kind\r\n\r\n",
        b"HTTP/1.1 99999999999 \x00\r\n\r\n",
        b"HTTP/1.1 503 No\r\nretry-after: 999999\r\ncontent-length: 0\r\n\r\n",
        b"",
    ],
)
def test_every_response_of_a_receiver_is_recorded(webhook_of: WebhookOf, answer: bytes):
    async def hostile(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(answer)
        await writer.drain()

    async def sent() -> None:
        async with raw_server(hostile) as port, Transport() as transport:
            await in_database(webhook_move, f"http://127.0.0.1:{port}/")
            sender = Sender(transport)
            await sender.look()
            await sender.settled()

    found = webhook_of()[0]
    webhook_test(found)
    webhook_move = functools.partial(_moved, found)
    asyncio.run(sent())
    assert Try.objects.count() == 1
    assert Delivery.objects.get().tried == 1


def _moved(webhook: Webhook, url: str) -> None:
    Webhook.objects.filter(id=webhook.id).update(url=url)


def test_the_egress_rules_apply(webhook_of: WebhookOf, receiver: Receiver):
    webhook_test(webhook_of()[0])
    with override_settings(EGRESS=Rules.read("public")):
        send()
    assert not receiver.requests
    delivery = Delivery.objects.get()
    assert delivery.state == "dead"
    assert "may not be called: it is at this machine itself" in Try.objects.get().fault


def test_an_attempt_of_a_killed_worker_is_repeated_after_its_lease(webhook_of: WebhookOf, receiver: Receiver):
    webhook_test(webhook_of()[0])
    assert len(delivery_queue.claim(OTHERS)) == 1  # and its worker is gone
    send()
    assert not receiver.requests
    due()
    send()
    assert Delivery.objects.get().state == "delivered"


def test_simultaneous_deliveries_to_one_webhook_are_limited(webhook_of: WebhookOf):
    slow, other = webhook_of()[0], webhook_of(name="other")[0]
    for _ in range(6):
        webhook_test(slow)
    webhook_test(other)
    claimed = delivery_queue.claim(OTHERS)
    assert sorted(one.webhook.name for one in claimed) == ["on-call", "on-call", "other"]
    assert delivery_queue.claim(replace(OTHERS, busy=[slow.id])) == []


@contextmanager
def silence() -> Iterator[tuple[str, socket.socket]]:
    """The address of a server that takes connections and never answers, until its socket is closed."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as silent:
        yield f"http://127.0.0.1:{silent.getsockname()[1]}", silent


def test_slow_or_unavailable_webhooks_do_not_delay_others(webhook_of: WebhookOf, receiver: Receiver):
    quick = webhook_of(name="quick")[0]

    async def looks() -> None:
        async with Transport() as transport:
            sender = Sender(transport)
            await in_database(webhook_test, quick)
            await sender.look()
            await sender.settled()
            for number in range(12):
                slow = (await in_database(webhook_of, name=f"slow {number}", url=f"{address}/"))[0]
                for _ in range(4):
                    await in_database(webhook_test, slow)
            await sender.look()
            assert len(sender._under_way) == AT_ONCE // 2
            for _ in range(3):
                await in_database(webhook_test, quick)
            await sender.look()
            assert Counter(sender._under_way.values())[quick.id] == 3
            silent.close()
            await sender.settled()

    with silence() as (address, silent):
        asyncio.run(looks())
    assert len(receiver.requests) == 4


def test_the_queue_of_a_failing_webhook_is_bounded_and_the_oldest_are_dropped(
    webhook_of: WebhookOf, browser: Client, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(delivery_queue, "MOST_WAITING", 3)
    webhook, other = webhook_of()[0], webhook_of(name="other", statuses=["failed"])[0]
    tried = webhook_test(webhook)
    Try.objects.create(delivery=tried, at=timezone.now(), duration_ms=1)
    webhook_test(other)
    made = make_turns("a", "b", "c", "d", status="completed")
    announce_all()
    waiting = Delivery.objects.filter(webhook=webhook)
    assert [str(one.turn_id) for one in waiting.order_by("id")] == made[1:]
    assert Delivery.objects.filter(webhook=other).count() == 1
    webhook.refresh_from_db()
    assert (webhook.dropped, Try.objects.count()) == (2, 0)
    page = compact(browser.get(f"/webhooks/{webhook.pk}").content.decode())
    assert "Dropped deliveries: 2, most recently" in page


def test_without_a_worker_the_queue_is_bounded_and_the_oldest_are_dropped(webhook_of: WebhookOf, browser: Client):
    webhook_of()
    make_turns("a", "b", status="completed")
    with connection.cursor() as cursor:  # as if so many others had come between
        cursor.execute("SELECT nextval('webhooks_happened_id_seq')")
        (newest,) = cursor.fetchone()
        cursor.execute("SELECT setval('webhooks_happened_id_seq', %s)", [newest + MOST_EVENTS + 1_000])
    made = make_turns("c", status="completed")
    assert [str(one.turn_id) for one in Happened.objects.all()] == made
    make_turns("d", status="completed")
    assert Happened.objects.count() == 2
    assert "Dropped events: 2, most recently" in compact(browser.get("/webhooks/").content.decode())


def test_events_without_a_turn_are_bounded_too(webhook_of: WebhookOf, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(delivery_queue, "MOST_WAITING", 3)
    webhook = webhook_of(events=["alert.fired"])[0]
    for _ in range(5):
        announce(project=webhook.project, kind="alert.fired", data={})
    webhook.refresh_from_db()
    assert (Delivery.objects.count(), webhook.dropped) == (3, 2)


def test_an_unreadable_secret_is_reported(webhook_of: WebhookOf, receiver: Receiver):
    webhook, _ = webhook_of()
    webhook_test(webhook)
    with override_settings(SECRET_KEY="another"):
        send()
    assert "WHYSTOP_SECRET_KEY has changed" in Try.objects.get().fault
    assert webhook_new_secret(webhook).startswith("whsec_")
    assert not receiver.requests


def test_deliveries_of_a_turn_are_erased_with_it(webhook_of: WebhookOf, receiver: Receiver):
    webhook, _ = webhook_of()
    (made,) = make_turns("a", status="completed")
    webhook_test(webhook)
    send()
    turn = Turn.objects.get(id=made)
    turns_erase(project=turn.project, chosen=[turn.id], by=webhook.created_by)
    assert list(Delivery.objects.values_list("kind", flat=True)) == ["test"]
    assert Try.objects.count() == 1


def test_old_deliveries_are_deleted_and_waiting_ones_kept(webhook_of: WebhookOf, receiver: Receiver):
    webhook, _ = webhook_of()
    for _ in range(2):
        webhook_test(webhook)
    send()
    waiting = webhook_test(webhook)
    Delivery.objects.update(created_at=timezone.now() - delivery_queue.KEPT - timedelta(days=1))
    delivery_queue.sweep()
    assert list(Delivery.objects.all()) == [waiting]


def test_the_signature_check_in_the_documents_accepts_a_genuine_request(webhook_of: WebhookOf, receiver: Receiver):
    webhook, secret = webhook_of()
    webhook_test(webhook)
    send()
    (request,) = receiver.requests
    text = Path("docs/how-to/webhooks.md").read_text(encoding="utf-8")
    named: dict = {}
    exec(text.partition("```python\n")[2].partition("```")[0], named)
    assert named["is_genuine"](secret, request.headers, request.body)
    assert not named["is_genuine"](secret, request.headers, request.body + b" ")
