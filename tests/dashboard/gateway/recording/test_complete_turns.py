import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest
from django.db import IntegrityError, connection, transaction

from dashboard.gateway.recording import complete_turns
from dashboard.gateway.recording.complete_turns import TurnStore
from dashboard.turns.models import Node, Turn
from tests.dashboard.ingest import exports
from tests.dashboard.website import until

GATE, PASSED = 46_001, 46_002  # advisory locks
WAIT = "SELECT pg_advisory_xact_lock($1::bigint) WHERE length($2::text) > 0"
LARGE = "x" * 4 * 2**20  # far more than a socket holds


def _elsewhere(sql: str, *parameters: Any) -> Any:
    """What a statement of another connection gives."""

    def asked() -> Any:
        try:
            with connection.cursor() as cursor:
                cursor.execute(sql, parameters)
                return cursor.fetchone()[0]
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as other:
        return other.submit(asked).result()


@pytest.mark.django_db(transaction=True)
def test_postgres_executes_a_sent_statement_before_its_result_is_awaited() -> None:
    held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = %s AND granted"
    with transaction.atomic(), TurnStore() as store:
        for lock in (GATE, PASSED):
            store.send(WAIT, [lock, LARGE])
        until(lambda: _elsewhere(held, PASSED) == 1)


@pytest.mark.django_db(transaction=True)
def test_a_statement_is_sent_while_another_one_waits() -> None:
    with ThreadPoolExecutor(1) as other, transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [GATE])
        stored = other.submit(_sends_two)
        waits = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = %s AND NOT granted"
        until(lambda: _elsewhere(waits, GATE) == 1)
        until(lambda: sent == [1, 2])
        assert not stored.done()
        transaction.set_rollback(True)
    stored.result()


sent: list[int] = []


def _sends_two() -> None:
    sent.clear()
    try:
        with transaction.atomic(), TurnStore() as store:
            for number in (1, 2):
                store.send(WAIT, [GATE, "few"])
                sent.append(number)
    finally:
        connection.close()


@pytest.mark.django_db(transaction=True)
def test_an_error_of_a_statement_is_raised_at_the_end_of_the_block_and_nothing_is_stored() -> None:
    with pytest.raises(IntegrityError):
        _stored(1, 1, 2)
    assert _loose() == 0
    _stored(1, 2)
    assert _loose() == 2


@pytest.mark.django_db(transaction=True)
def test_an_error_of_a_statement_is_raised_before_the_result_of_a_query() -> None:
    answers: list[int] = []
    with pytest.raises(IntegrityError):
        _stored(1, 1, then=lambda: answers.append(Turn.objects.count()))
    assert not answers


@pytest.mark.django_db(transaction=True)
def test_an_error_of_the_caller_is_raised_unchanged_and_nothing_is_stored() -> None:
    with pytest.raises(ZeroDivisionError):
        _stored(1, 2, then=lambda: 1 // 0)
    assert _loose() == 0


def _stored(*numbers: int, then: Callable[[], object] = lambda: None) -> None:
    with transaction.atomic(), TurnStore() as store:
        for number in numbers:
            store.send("INSERT INTO turns_loosenode (id) VALUES ($1::uuid)", [UUID(int=number)])
        then()


def _loose() -> Any:
    return _elsewhere("SELECT count(*) FROM turns_loosenode")


@pytest.mark.django_db
def test_turns_in_groups_give_the_same_result_and_store_their_nodes_once_in_one_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parts = exports.pieces_of(exports.names())
    exports.send(*parts)
    expected = exports.stored()
    nodes = set(Node.objects.values_list("id", flat=True))
    exports.emptied()
    told: list[list[UUID]] = []
    send = TurnStore.send

    def sends(store: TurnStore, sql: str, parameters: Any) -> None:
        if sql == complete_turns.statements.NODES:
            told.append([UUID(one["id"]) for one in json.loads(parameters[0])])
        send(store, sql, parameters)

    monkeypatch.setattr(TurnStore, "send", sends)
    monkeypatch.setattr(complete_turns, "GROUP_TURNS", 3)
    monkeypatch.setattr(complete_turns, "GROUP_NODES", 7)
    exports.send(*parts)
    assert exports.stored() == expected
    assert max(map(len, told)) == 7
    ids = [one for group in told for one in group]
    assert ids == sorted(nodes)
