# ruff: noqa: S608 - made of constants
"""The statements by which turns are stored, many in one go: new ones, more of turns that are there, and, of streams
that go on, pieces of their answers alone, which takes Postgres half as long.

Each is one statement, so one transaction. Rows come as JSON, a list for each table, and as `bytea[]` what is bytes.
Of a text that is large and stands in many rows, a mark stands there (`deduplication`), and it comes beside them, once.
What is said of a turn that is there counts only while this process owns it; the ids of those are returned.
"""

from collections.abc import Iterable

from django.db import connection
from django.db import models as orm

from dashboard.gateway.recording.deduplication import MARKS
from dashboard.gateway.recording.pg_connection import Statement
from dashboard.turns.models import Attempt, AttemptChunk, Checkpoint, Node, Record, Turn
from dashboard.turns.run_keys import FOLLOWED

#: The database fills these itself; no turn of the gateway is held.
_FILLED = frozenset({"tokens", "cohort", "held_ms"})
_FIRST_LARGE = 1  #: parameter that is a large text
_FIRST_PLAIN = _FIRST_LARGE + len(MARKS)
#: Rows that come with nothing else, in the order of the parameters.
PLAIN: tuple[type[orm.Model], ...] = (Attempt, Checkpoint)
#: Of an attempt, what its end fills; of a turn, what its steps do; of a call, what its caller was told.
ENDED = (
    "duration_ms", "first_token_ms", "status_code", "response_headers", "content_type", "stop_reason",
    "raw_stop_reason", "usage", "text", "tool_calls", "error", "raw", "raw_text", "raw_at",
)  # fmt: skip
PROJECTED = (
    "status", "state", "stop_reason", "model_stop_reason", "raw_stop_reason", "terminal_reason", "error_code",
    "error_message", "output_text", "notice", "verdict", "started_at", "finished_at", "duration_ms", "envelope", "lint",
    "cut_sign", "last_seq", "core_version", "input_tokens", "output_tokens", "tokens_estimated", "attempts",
    "continuations", "tool_repairs", "envelope_retries", "model", "max_tokens", "resource",
)  # fmt: skip

#: Columns of a turn's row that have its call: those that begin it, and what its caller was told in the end.
ASKED = ("call_key_id", "call_caller", "call_mode", "call_stream", "call_n")
TOLD = (
    "call_status", "call_client_finish_reason", "call_finish_source", "call_continued", "call_disconnected",
    "call_overhead_us", "call_answer_id",
)  # fmt: skip


def columns_of(model: type[orm.Model]) -> tuple[str, ...]:
    """The columns that are written, by name."""
    columns = (field.column for field in model._meta.concrete_fields)
    return tuple(column for column in columns if column and column not in _FILLED)


def _listed(columns: Iterable[str], of: str = "") -> str:
    return ", ".join(f'{of}"{column}"' for column in columns)


def _set(columns: Iterable[str]) -> str:
    return ", ".join(f'"{column}" = given."{column}"' for column in columns)


def _told() -> str:
    """What the caller was told, of a turn that is written in the same statement: a row is changed only once in one."""
    return ", ".join(f"{name} = CASE WHEN told.id IS NULL THEN turns_turn.{name} ELSE told.{name} END" for name in TOLD)


def _rows(model: type[orm.Model], number: int, alias: str = "given") -> str:
    return f"json_populate_recordset(null::{model._meta.db_table}, {_whole(number)}) {alias}"


def _whole(number: int) -> str:
    """A parameter as JSON, with its large texts in the places of their marks."""
    text = f"${number}::text"
    for n, mark in enumerate(MARKS, start=_FIRST_LARGE):
        text = f"replace({text}, '\"{mark}\"', coalesce(${n}::text, ''))"
    return f"(CASE WHEN ${_FIRST_LARGE}::text IS NULL THEN ${number}::text ELSE {text} END)::json"


def _inserted(model: type[orm.Model], number: int, owned: str) -> str:
    columns = columns_of(model)
    return (
        f"{model._meta.db_table}_in AS (INSERT INTO {model._meta.db_table} ({_listed(columns)}) "
        f"SELECT {_listed(columns, 'given.')} FROM {_rows(model, number)}{owned})"
    )


def _turns(number: int) -> str:
    """New turns: one that goes on from another's answer is of its run."""
    columns = (*(column for column in columns_of(Turn) if column not in {"run_id", "follows"}), *ASKED, *TOLD)
    followed = FOLLOWED.format(keys="given.history_keys", turn="given.id")
    return (
        f"turns_turn_in AS (INSERT INTO turns_turn ({_listed(columns)}, run_id, follows) "
        f"SELECT {_listed(columns, 'given.')}, followed.run_id, followed.id FROM {_rows(Turn, number)} "
        f"LEFT JOIN LATERAL ({followed}) followed ON true)"
    )


def _records(rows: int, packed: int, owned: str) -> str:
    """Of a record, what is compressed comes beside the rest."""
    columns = [column for column in columns_of(Record) if column != "packed"]
    types = ", ".join(f"{name} {Record._meta.get_field(name).db_type(connection)}" for name in columns)
    return (
        f"records_in AS (INSERT INTO {Record._meta.db_table} ({_listed(columns)}, packed) "
        f"SELECT {_listed(columns, 'given.')}, given.packed FROM ROWS FROM ("
        f"json_to_recordset({_whole(rows)}) AS ({types}), unnest(${packed}::bytea[])) "
        f"given ({_listed(columns)}, packed){owned})"
    )


def _pieces(rows: int, raws: int, owned: str) -> str:
    """Of a piece, what is text comes as JSON and what is bytes beside it."""
    return (
        f"pieces_in AS (INSERT INTO {AttemptChunk._meta.db_table} (turn_id, attempt, n, text, at, raw) "
        "SELECT given.turn_id, given.attempt, given.n, given.text, given.at, given.raw FROM ROWS FROM ("
        f"json_to_recordset({_whole(rows)}) AS (turn_id uuid, attempt int, n int, text text, at timestamptz), "
        f"unnest(${raws}::bytea[])) given (turn_id, attempt, n, text, at, raw){owned})"
    )


def _nodes(rows: int, packed: int) -> str:
    """Nodes that others have said too are there already."""
    return (
        f"nodes_in AS (INSERT INTO {Node._meta.db_table} (id, parent_id, packed) "
        "SELECT given.id, given.parent_id, given.packed FROM ROWS FROM ("
        f"json_to_recordset(${rows}::json) AS (id uuid, parent_id uuid), unnest(${packed}::bytea[])) "
        "given (id, parent_id, packed) ORDER BY given.id ON CONFLICT DO NOTHING)"
    )


def _shared(owned: str) -> list[str]:
    """Parameters 1 to 11, of both: large texts, rows, records, pieces and nodes."""
    plain = [_inserted(model, number, owned) for number, model in enumerate(PLAIN, start=_FIRST_PLAIN)]
    return [*plain, _records(6, 7, owned), _pieces(8, 9, owned), _nodes(10, 11)]


_NEW = [
    _turns(12),
    "owned_in AS (INSERT INTO live_ownedturn (turn_id, process_id) SELECT id, $14::uuid FROM unnest($13::uuid[]) id)",
]
_IF_OWNED = " JOIN owned USING (turn_id)"


def _owned(turns: int, process: int) -> str:
    return (
        "owned AS (SELECT turn_id FROM live_ownedturn "
        f"WHERE turn_id = ANY(${turns}::uuid[]) AND process_id = ${process}::uuid FOR UPDATE)"
    )


_MORE = [
    f"attempts_ended AS (UPDATE turns_attempt SET {_set(ENDED)} "
    f"FROM {_rows(Attempt, 12)} JOIN owned USING (turn_id) WHERE turns_attempt.turn_id = given.turn_id "
    "AND turns_attempt.index = given.index AND turns_attempt.duration_ms IS NULL)",
    f"turns_moved AS (UPDATE turns_turn SET {_set(PROJECTED)}, "
    "error_type = coalesce(given.error_type, turns_turn.error_type), "
    "node_id = coalesce(given.node_id, turns_turn.node_id), "
    "shared_id = coalesce(given.shared_id, turns_turn.shared_id), "
    f"answered_key = coalesce(given.answered_key, turns_turn.answered_key), {_told()} "
    f"FROM {_rows(Turn, 13)} JOIN owned ON owned.turn_id = given.id "
    f"LEFT JOIN {_rows(Turn, 17, 'told')} ON told.id = given.id "
    "WHERE turns_turn.id = given.id RETURNING turns_turn.id)",
    "owned_out AS (DELETE FROM live_ownedturn USING owned WHERE live_ownedturn.turn_id = owned.turn_id "
    "AND owned.turn_id = ANY($15::uuid[]))",
    # Who was told what is known of this process alone, also of a turn that has ended.
    f"calls_told AS (UPDATE turns_turn SET {_set(TOLD)} FROM {_rows(Turn, 17)} "
    "WHERE turns_turn.id = given.id AND given.id NOT IN (SELECT id FROM turns_moved))",
]

_BINARY = frozenset({6, 8, 10})
NEW = Statement("new", f"WITH {', '.join([*_shared(''), *_NEW])} SELECT 1 WHERE false", _BINARY)
#: Nodes alone.
NODES = f"WITH {_nodes(1, 2)} SELECT 1 WHERE false"
MORE = Statement(
    "more",
    f"WITH {', '.join([_owned(14, 16), *_shared(_IF_OWNED), *_MORE])} SELECT turn_id::text FROM owned",
    _BINARY,
)
PIECES = Statement(
    "pieces", f"WITH {_owned(6, 7)}, {_pieces(4, 5, _IF_OWNED)} SELECT turn_id::text FROM owned", frozenset({4})
)
BEAT = Statement(
    "beat",
    # Whoever holds the row keeps no turn from being stored: the next beat is soon.
    "WITH free AS (SELECT id FROM live_process WHERE id = $1::uuid FOR NO KEY UPDATE SKIP LOCKED), "
    "beaten AS (UPDATE live_process SET seen_at = clock_timestamp() FROM free WHERE live_process.id = free.id) "
    "INSERT INTO live_process (id) VALUES ($1::uuid) ON CONFLICT DO NOTHING",
)
LEAVE = Statement("leave", "DELETE FROM live_process WHERE id = $1::uuid")
#: Turns that are given up here: whoever looks for lost ones finds them. Those that somebody holds are told.
DISOWN = Statement(
    "disown",
    "WITH free AS (SELECT turn_id FROM live_ownedturn WHERE turn_id = ANY($1::uuid[]) FOR UPDATE SKIP LOCKED), "
    "given_up AS (UPDATE live_ownedturn SET process_id = '00000000-0000-0000-0000-000000000000' "
    "FROM free WHERE live_ownedturn.turn_id = free.turn_id) "
    "SELECT turn_id::text FROM live_ownedturn WHERE turn_id = ANY($1::uuid[]) AND turn_id NOT IN (TABLE free)",
)
#: Whether somebody holds the row of a turn, or that of its owner. Waits where its table is locked.
IS_HELD = Statement(
    "is_held",
    "WITH turn AS (SELECT id FROM turns_turn WHERE id = $1::uuid FOR NO KEY UPDATE SKIP LOCKED), "
    "owned AS (SELECT turn_id FROM live_ownedturn WHERE turn_id = $1::uuid FOR UPDATE SKIP LOCKED) "
    "SELECT 1 FROM turns_turn WHERE id = $1::uuid AND id NOT IN (TABLE turn) UNION ALL "
    "SELECT 1 FROM live_ownedturn WHERE turn_id = $1::uuid AND turn_id NOT IN (TABLE owned)",
)
#: Whether something that was sent, and not answered, has been stored: one row says it of its whole statement.
HAS_TURN = Statement("has_turn", "SELECT 1 FROM turns_turn WHERE id = $1::uuid")
HAS_RECORD = Statement("has_record", "SELECT 1 FROM turns_record WHERE turn_id = $1::uuid AND seq = $2::int")
HAS_PIECE = Statement(
    "has_piece", "SELECT 1 FROM turns_attemptchunk WHERE turn_id = $1::uuid AND attempt = $2::int AND n = $3::int"
)
ALL = (NEW, MORE, PIECES, BEAT, LEAVE, DISOWN, IS_HELD, HAS_TURN, HAS_RECORD, HAS_PIECE)
