"""The tables that tell where a turn came from. Their rows are evidence too; `ingest`, which has them, provides them."""

from dataclasses import dataclass
from typing import Any

from dashboard.platform.provided import Provided


@dataclass(frozen=True, slots=True)
class OriginTables:
    """Models whose key is the turn's id. Their columns are in `columns`."""

    origin: type[Any]  #: of turns that came as files: `columns.ORIGIN_ROW`
    ingested: type[Any]  #: of turns that were made of a trace or a log: `columns.INGESTED_ROW`


origin_tables = Provided[OriginTables]("the tables of where turns came from")
