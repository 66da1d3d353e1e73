"""Statements of a transaction that are executed in a thread: in their order, all or none, and their errors are told."""

import threading
from collections.abc import Iterator

import pytest
from django.db import DataError, connection, transaction

from dashboard.gateway.recording.complete_turns import BackgroundStatements, execute_raw

pytestmark = pytest.mark.django_db(transaction=True)

ADD = "INSERT INTO sequence_of_numbers VALUES ($1::int)"


@pytest.fixture(autouse=True)
def numbers() -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE sequence_of_numbers (n int)")
    yield
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE sequence_of_numbers")


def stored() -> list[int]:
    return [n for (n,) in execute_raw("SELECT n FROM sequence_of_numbers ORDER BY ctid", [])]


@transaction.atomic
def refused() -> None:
    with BackgroundStatements() as execute:
        execute(ADD, [1])
        execute("SELECT 1 / ($1::int * 0)", [1])
        execute_raw("SELECT 1", [])  # fails too, for the transaction is lost


@transaction.atomic
def given_up() -> None:
    with BackgroundStatements() as execute:
        execute("SELECT pg_sleep(0.05)", [])
        execute(ADD, [1])
        raise KeyError


def test_statements_run_in_their_order_and_are_done_when_the_block_ends() -> None:
    with transaction.atomic(), BackgroundStatements() as execute:
        execute("SELECT pg_sleep(0.05)", [])
        for n in range(3):
            execute(ADD, [n])
    assert stored() == [0, 1, 2]


def test_an_error_of_a_statement_is_the_one_that_is_raised_and_nothing_is_stored() -> None:
    with pytest.raises(DataError):
        refused()
    assert stored() == []


def test_where_the_caller_fails_the_statement_under_way_is_not_stored_after_the_rollback() -> None:
    with pytest.raises(KeyError):
        given_up()
    assert stored() == []
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("statements")]
