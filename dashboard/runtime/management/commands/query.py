"""`manage.py query`: ask the database by SQL, without a client of PostgreSQL and without the right to change it."""

import csv
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import psycopg
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection, transaction

from dashboard.platform.logs import visible
from dashboard.turns.sql_views import view_installer

SECONDS = 60
WIDEST = 60  #: characters of a value in a table
#: A role that every PostgreSQL has. It reads all tables, but no files of the server, and ends no connections.
READER = "pg_read_all_data"
#: What a text begins with that a spreadsheet calculates instead of showing it.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


Writer = Callable[[Sequence[str], Iterable[Sequence[Any]]], None]


class Command(BaseCommand):
    """One statement in a transaction that only reads, with a limit of time."""

    help = "Run a SELECT statement over the views of the schema whystop (docs/how-to/sql.md)."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("sql", help="the query; - reads it from standard input")
        parser.add_argument("--csv", action="store_true", help="write CSV instead of a table")
        parser.add_argument(
            "--exact",
            action="store_true",
            help="in CSV, do not put ' before text that a spreadsheet would read as a formula",
        )
        parser.add_argument(
            "--seconds", type=int, default=SECONDS, help=f"stop after this many seconds (default {SECONDS})"
        )

    def handle(self, *_: Any, **options: Any) -> None:
        asked = sys.stdin.read() if options["sql"] == "-" else options["sql"]
        if not asked.strip():
            raise CommandError("The query is empty.")
        if options["seconds"] < 1:
            raise CommandError(f"--seconds must be 1 or more, not {options['seconds']}.")
        try:
            write = self._table if not options["csv"] else self._exact_csv if options["exact"] else self._csv
            self._tell(asked, seconds=options["seconds"], write=write)
        except psycopg.Error as error:
            raise CommandError(str(error).strip()) from error

    def _tell(self, asked: str, *, seconds: int, write: Writer) -> None:
        view_installer.install()
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(
                f"SET TRANSACTION READ ONLY; SET LOCAL statement_timeout = '{seconds}s'; "
                f"SET LOCAL search_path = {view_installer.SCHEMA}, public"
            )
            if _is_superuser(connection.connection):
                cursor.execute(f"SET LOCAL ROLE {READER}")
            pgconn = connection.connection.pgconn
            # Only one statement can be prepared: a second one might end the transaction.
            prepared = pgconn.prepare(b"", asked.encode())
            if prepared.status != psycopg.pq.ExecStatus.COMMAND_OK:
                raise CommandError(prepared.error_message.decode(errors="replace").strip())
            # COPY writes files and runs programs, and counts as reading: what returns no rows is not begun.
            if not pgconn.describe_prepared(b"").nfields:
                raise CommandError("The query returns no rows; it must be a SELECT.")
            found = psycopg.Cursor(connection.connection).execute(asked.encode())
            names = [column.name for column in found.description or ()]
            write(names, found)

    def _csv(self, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        self._exact_csv(list(map(_shown, names)), (list(map(_shown, row)) for row in rows))

    def _exact_csv(self, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        writer = csv.writer(self.stdout)
        writer.writerow(names)
        writer.writerows(rows)

    def _table(self, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        lines = [[_short(name) for name in names], *([_short(value) for value in row] for row in rows)]
        widths = [max(len(line[n]) for line in lines) for n in range(len(names))]
        for line in lines:
            cells = (value.ljust(width) for value, width in zip(line, widths, strict=True))
            self.stdout.write("  ".join(cells).rstrip())
        self.stdout.write(f"({len(lines) - 1} row{'' if len(lines) == 2 else 's'})")


def _is_superuser(taken: Any) -> bool:
    return bool(taken.info.parameter_status("is_superuser") == "on")


def _shown(value: Any) -> Any:
    """A number stays one."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def _short(value: Any) -> str:
    text = "" if value is None else visible(" ".join(str(value).split()))
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"
