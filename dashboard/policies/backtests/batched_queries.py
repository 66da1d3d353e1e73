"""The rows of several queries by few statements, each of a bounded size."""

from collections.abc import Sequence
from time import monotonic
from typing import Any

import structlog
from django.db import OperationalError, transaction
from django.db.models import QuerySet, Value

from dashboard.platform.statement_timeout import was_too_slow

log = structlog.get_logger(__name__)

AT_ONCE = 10  #: queries in one statement
FETCHED = 5_000  #: rows held at once
PATIENCE = 20.0  #: seconds after which no further statement begins

Row = tuple[Any, ...]


def rows_of_each(queries: Sequence[QuerySet[Any]], columns: Sequence[str]) -> list[list[Row] | None]:
    """The rows of each query in its own order; None where that took too long."""
    found: list[list[Row] | None] = []
    until = monotonic() + PATIENCE
    for begin in range(0, len(queries), AT_ONCE):
        asked = queries[begin : begin + AT_ONCE]
        found += _rows_or_none(asked, columns) if monotonic() < until else [None] * len(asked)
    return found


def _rows_or_none(queries: Sequence[QuerySet[Any]], columns: Sequence[str]) -> Sequence[list[Row] | None]:
    try:
        with transaction.atomic(using=queries[0].db):
            return _rows(queries, columns)
    except OperationalError as error:
        if not was_too_slow(error):
            raise
        log.warning("statement_too_slow", queries=len(queries))
        return [None] * len(queries)


def _rows(queries: Sequence[QuerySet[Any]], columns: Sequence[str]) -> list[list[Row]]:
    found: list[list[Row]] = [[] for _ in queries]
    each = [query.annotate(of=Value(n)).values_list("of", *columns) for n, query in enumerate(queries)]
    asked = each[0].union(*each[1:], all=True) if len(each) > 1 else each[0]
    for of, *row in asked.iterator(chunk_size=FETCHED):
        found[of].append(tuple(row))
    return found
