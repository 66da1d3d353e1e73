"""The client before servers that break off, refuse, fall silent or are no Whystop at all."""

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dashboard.client import Record, Turn, command_line, turn, wire
from dashboard.client.values import read_as
from dashboard.client.wire import Refused, Server, Unauthorized, Unreachable, deadline_in, followed, found_again
from tests.examples import examples

Answer = Callable[[str], bytes]  #: of a request's head

OPENED = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nretry: 1000\n\n"


def answered(status: int, body: bytes = b'{"detail": "no", "errors": []}', more: str = "") -> bytes:
    return f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n{more}\r\n".encode() + body


def event(kind: str, data: object, seq: int | None = None) -> bytes:
    mark = f"id: {seq}\n" if seq else ""
    return f"{mark}event: {kind}\ndata: {json.dumps(data)}\n\n".encode()


def draft(attempt: int, offset: int, text: str) -> bytes:
    return event("draft", {"attempt": attempt, "offset": offset, "text": text})


def story(seq: int) -> bytes:
    """What a server tells who comes with record `seq`: a turn of three records, whose answers stream."""
    parts = [
        (1, event("record", {"seq": 1}, 1)),
        (2, draft(1, 0, "Hällo ") + b": still here\n\n" + draft(1, 6, "world")),
        (2, event("record", {"seq": 2}, 2)),
        (3, draft(2, 0, "again")),
        (3, event("record", {"seq": 3}, 3)),
        (4, event("end", {"status": "completed"})),
    ]
    return OPENED + b"".join(part for needed, part in parts if needed > seq)


def seq_of(head: str) -> int:
    return int(next(line for line in head.split("\r\n") if line.lower().startswith("last-event-id")).split(":")[1])


@contextmanager
def serving(*answers: Answer, hold: float = 0.0) -> Iterator[tuple[Server, list[str]]]:
    """A server that gives one answer a connection, the last again and again; and the heads it was asked with."""
    heads: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        closing = threading.Event()

        def serve(wire: socket.socket) -> None:
            with wire, contextlib.suppress(OSError):
                head = b""
                while b"\r\n\r\n" not in head and (more := wire.recv(65536)):
                    head += more
                heads.append(head.decode())
                wire.sendall(answers[min(len(heads), len(answers)) - 1](heads[-1]))
                closing.wait(hold)

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(target=serve, args=[listener.accept()[0]], daemon=True).start()

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield Server(f"http://127.0.0.1:{listener.getsockname()[1]}/base/", "token", 10), heads
        closing.set()
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(10)


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "PAUSES", (0.001, 0.01))


def told(server: Server, seq: int = 0) -> list[tuple[str, dict]]:
    """What is told up to the end."""
    kinds = []
    for kind, data in followed(server, "/turns/x/events", seq, None):
        kinds.append((kind, data))
        if kind == "end":
            break
    return kinds


def drafted(kinds: list[tuple[str, dict]]) -> dict[int, str]:
    texts: dict[int, str] = {}
    for kind, data in kinds:
        if kind == "draft":
            assert data["offset"] == len(texts.get(data["attempt"], ""))
            texts[data["attempt"]] = texts.get(data["attempt"], "") + data["text"]
    return texts


def whole(_: str) -> bytes:
    return story(0)


LONG = len(story(0))


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.lists(st.integers(len(OPENED), LONG - 1), max_size=4))
def test_a_stream_interrupted_anywhere_loses_and_repeats_nothing(cuts: list[int]):
    def cut(at: int) -> Answer:
        return lambda head: story(seq_of(head))[:at]

    with serving(*map(cut, cuts), lambda head: story(seq_of(head))) as (server, _):
        kinds = told(server)
    assert [data["seq"] for kind, data in kinds if kind == "record"] == [1, 2, 3]
    texts = drafted(kinds)
    assert "Hällo world".startswith(texts.get(1, ""))
    assert "again".startswith(texts.get(2, ""))
    assert [kind for kind, _ in kinds][-1] == "end"


def test_a_complete_stream_is_delivered_unchanged():
    with serving(whole) as (server, heads):
        kinds = told(server)
    assert [kind for kind, _ in kinds] == ["record", "draft", "draft", "record", "draft", "record", "end"]
    assert drafted(kinds) == {1: "Hällo world", 2: "again"}
    assert heads[0].startswith("GET /base/api/v1/turns/x/events HTTP/1.1")
    assert "Authorization: Bearer token" in heads[0]


def test_repeated_events_of_a_server_are_delivered_once():
    with serving(lambda _: story(0)[:-20], whole) as (server, _):
        assert [data["seq"] for kind, data in told(server) if kind == "record"] == [1, 2, 3]


@pytest.mark.parametrize("status", sorted(wire.AGAIN))
def test_a_restarting_server_is_retried_once_it_has_responded_before(status: int):
    with serving(lambda _: story(0)[:200], lambda _: answered(status), lambda head: story(seq_of(head))) as (server, _):
        assert [kind for kind, _ in told(server)][-1] == "end"


@pytest.mark.parametrize("status", [401, 404, 409, 503])
def test_a_refusal_of_the_first_request_is_final(status: int):
    with serving(lambda _: answered(status)) as (server, heads):
        with pytest.raises(Refused) as refused:
            told(server)
        assert (refused.value.status, str(refused.value), len(heads)) == (status, "no", 1)


def test_a_token_revoked_during_a_stream_ends_it():
    with serving(lambda _: story(0)[:200], lambda _: answered(401)) as (server, _), pytest.raises(Unauthorized):
        told(server)


def test_a_server_that_stays_unavailable_is_given_up(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(wire, "PATIENCE", 0.2)
    with serving(lambda _: story(0)[:200], lambda _: b"") as (server, heads):
        with pytest.raises(Unreachable, match="does not answer"):
            told(server)
        assert len(heads) > 2


def test_a_silent_connection_is_replaced_by_another(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(wire, "SILENCE", 0.3)
    monkeypatch.setattr(wire, "PATIENCE", 10.0)
    with serving(lambda _: story(0)[:200], lambda head: story(seq_of(head)), hold=1.0) as (server, heads):
        assert [kind for kind, _ in told(server)][-1] == "end"
    assert len(heads) == 2


def test_a_deadline_ends_any_silence():
    with serving(lambda _: OPENED, hold=5.0) as (server, _), pytest.raises(TimeoutError):
        next(followed(server, "/turns/x/events", 0, wire.deadline_in(0.3)))


def test_redirects_are_not_followed():
    with serving(whole) as (_, elsewhere):
        away = f"Location: http://127.0.0.1:{1}/\r\n"
        with serving(lambda _: answered(302, b"{}", away)) as (server, _):
            with pytest.raises(Unreachable, match="is not Whystop: it answered 302"):
                server.call("GET", "/agents")
            with pytest.raises(Unreachable, match="is not Whystop: it answered 302"):
                told(server)
        assert elsewhere == []


@pytest.mark.parametrize("body", [b"<html>", b"", b"\xff\xfe", b"[1"])
def test_a_response_that_is_not_json_is_not_from_whystop(body: bytes):
    with serving(lambda _: answered(200, body)) as (server, _), pytest.raises(Unreachable, match="is not Whystop"):
        server.call("GET", "/agents")


def test_a_page_instead_of_a_stream_is_reported():
    with serving(lambda _: answered(200, b"{}")) as (server, _), pytest.raises(Unreachable, match="sends no events"):
        told(server)


@pytest.mark.parametrize(("status", "body"), [(500, b"<h1>oops"), (502, b"[]"), (400, b"{}")])
def test_a_refusal_without_a_message_gives_its_status(status: int, body: bytes):
    with serving(lambda _: answered(status, body)) as (server, _), pytest.raises(Refused, match=str(status)):
        server.call("POST", "/turns", {})


@pytest.mark.parametrize(
    "url",
    [
        "http://a:b",
        "http://a:99999",
        "http://a:0",
        "http://a..b",
        "http://.a",
        "http://[::1",
        "http://a/ b",
        "http://ä",
    ],
)
def test_an_invalid_url_is_reported_before_any_request(url: str):
    with pytest.raises(ValueError, match=r"must be like http://127\.0\.0\.1:8321, not"):
        Server(url, "token", 1.0)


def emptied(kind: type) -> dict[str, None]:
    """A value of this kind as a server tells it that knows nothing of it."""
    return {f.name: None for f in fields(kind) if not f.name.startswith("_")}


HELD = json.dumps({**emptied(Turn), "id": "x", "status": "held"}).encode()
HOLD = {**emptied(Record), "seq": 1, "command": {"type": "hold"}}


def turn_at(server: Server) -> Turn:
    shown = json.loads(HELD)
    return Turn(**shown, _connection=turn.Connection(server))


def gone(_: str) -> bytes:
    return b""


def starting(_: str) -> bytes:
    return answered(503)


def test_waiting_for_a_hold_continues_through_a_restart():
    with serving(lambda _: OPENED + event("record", HOLD, 1), gone, starting, lambda _: answered(200, HELD)) as found:
        server, heads = found
        assert turn_at(server).wait(seconds=60).status == "held"
    assert [head.split()[1].rpartition("/")[2] for head in heads] == ["events", "x", "x", "x"]


def test_a_command_waiting_for_a_hold_continues_through_a_restart():
    held, none = (lambda _: answered(200, HELD)), (lambda _: answered(200, b"[]"))
    with serving(gone, starting, held, gone, none) as (server, heads):
        assert command_line._is_held_by(read_as(Record, HOLD), turn_at(server))
    assert len(heads) == 5


def test_a_server_that_stays_unavailable_or_refuses_is_not_retried_forever(monkeypatch: pytest.MonkeyPatch):
    with serving(lambda _: answered(404)) as (server, heads), pytest.raises(Refused):
        found_again(turn_at(server).refreshed)
    assert len(heads) == 1
    with serving(gone) as (server, _):
        with pytest.raises(TimeoutError, match="within the given time"):
            found_again(turn_at(server).refreshed, deadline_in(0.05))
        monkeypatch.setattr(wire, "PATIENCE", 0.05)
        with pytest.raises(Unreachable):
            found_again(turn_at(server).refreshed)
