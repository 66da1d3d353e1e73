"""The formats of a file by name."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from dashboard.agents.models import Project
from dashboard.exports.jsonl import jsonl
from dashboard.exports.parquet import parquet
from dashboard.exports.turn_rows import Row, rows_of
from dashboard.turns.filters import TimelineFilters


@dataclass(frozen=True, slots=True)
class Format:
    """How a file of it is written, and what it is called on the wire."""

    write: Callable[[Iterable[Row]], Iterator[bytes]]
    content_type: str


FORMATS: Mapping[str, Format] = {
    "jsonl": Format(jsonl, "application/x-ndjson"),
    "parquet": Format(parquet, "application/vnd.apache.parquet"),
}


def file_of(*, project: Project, filters: TimelineFilters, named: str) -> Iterator[bytes]:
    """A file of the turns that the filters let through, piece by piece. `named`: one of FORMATS."""
    return FORMATS[named].write(rows_of(project=project, filters=filters))
