"""What a turn and an attempt have in a file: their names, Parquet's types and what they mean. JSONL has the same names.

A value that is itself JSON (`JSON`) is text in Parquet, and the value itself in JSONL.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

TEXT, WHOLE, NUMBER, FLAG, MOMENT, TEXTS, JSON = "text", "whole", "number", "flag", "moment", "texts", "json"
USAGE, ATTEMPTS = "usage", "attempts"


@dataclass(frozen=True, slots=True)
class Column:
    """`kind`: one of the words above."""

    name: str
    kind: str
    meaning: str


TURN: Sequence[Column] = (
    Column("id", TEXT, "the turn"),
    Column("created_at", MOMENT, "when it was stored first"),
    Column("started_at", MOMENT, "when it started; empty: it has not"),
    Column("finished_at", MOMENT, "when it ended; empty: it has not"),
    Column("duration_ms", WHOLE, "from start to end"),
    Column("agent", TEXT, "the agent's name"),
    Column("provider", TEXT, "the dialect of the connection"),
    Column("model", TEXT, "the model's name"),
    Column("status", TEXT, "where the turn stands"),
    Column("stop_reason", TEXT, "why the agent stopped"),
    Column("model_stop_reason", TEXT, "why the model stopped, normalized"),
    Column("raw_stop_reason", TEXT, "the provider's own word"),
    Column("terminal_reason", TEXT, "why it ended, finer than `stop_reason`"),
    Column("resource", TEXT, "the limit that ended it"),
    Column("error_type", TEXT, "the type of the last failure, also where the turn got over it"),
    Column("error_code", TEXT, "the code of the error that ended it"),
    Column("verdict", TEXT, "why it stopped, in a sentence"),
    Column("notice", TEXT, "what the caller was told beside the answer"),
    Column("input_text", TEXT, "what was asked"),
    Column("output_text", TEXT, "the answer"),
    Column("envelope", JSON, "the accepted value of a structured answer"),
    Column("max_tokens", WHOLE, "of the first call"),
    Column("input_tokens", WHOLE, "of all attempts"),
    Column("output_tokens", WHOLE, "of all attempts"),
    Column("tokens_estimated", FLAG, "whether some of these tokens are an estimate"),
    Column("cost_usd", NUMBER, "at list prices; empty: a price is not known"),
    Column("cost_estimated", FLAG, "whether some of the tokens of that price are an estimate"),
    Column("attempts", WHOLE, "calls of the model"),
    Column("continuations", WHOLE, "of a truncated answer"),
    Column("tool_repairs", WHOLE, "of broken tool calls"),
    Column("envelope_retries", WHOLE, "of structured answers"),
    Column("lint", TEXTS, "signs that a stop reason hides a cut"),
    Column("tags", TEXTS, "the operator's"),
    Column("policy_version", WHOLE, "the number of its policy's version"),
    Column("run_id", TEXT, "its run: the first turn of it"),
    Column("parent_id", TEXT, "the turn it was forked from"),
    Column("forked_at", WHOLE, "the parent's record"),
    Column("origin", JSON, "where an imported turn came from"),
    Column("ingested", JSON, "the trace or log that it was read from"),
    Column("attempt_list", ATTEMPTS, "its attempts, in order: see below"),
)
ATTEMPT: Sequence[Column] = (
    Column("index", WHOLE, "from 1"),
    Column("kind", TEXT, "`initial`, `after_tools`, `continuation`, `resume`, `tool_repair`, …"),
    Column("iteration", WHOLE, "the cycle of the agent's loop"),
    Column("provider", TEXT, "the dialect it was sent in"),
    Column("model", TEXT, "the model that was asked"),
    Column("max_tokens", WHOLE, "of this call"),
    Column("status_code", WHOLE, "of the provider's answer"),
    Column("stop_reason", TEXT, "why the model stopped, normalized"),
    Column("raw_stop_reason", TEXT, "the provider's own word"),
    Column("usage", USAGE, "the tokens that the provider reported"),
    Column("tokens_estimated", FLAG, "whether an answer came without usage"),
    Column("text", TEXT, "the text of the answer"),
    Column("tool_calls", JSON, "the tools it called"),
    Column("error", JSON, "what failed"),
    Column("started_at", MOMENT, "when it was sent"),
    Column("first_token_ms", WHOLE, "until the first token came"),
    Column("duration_ms", WHOLE, "until it ended"),
)
TOKENS = ("input_tokens", "output_tokens", "reasoning_tokens", "cached_tokens")
NO_REASONING = "no_reasoning"  #: whether the provider said so; a usage has this beside its tokens


@cache
def schema() -> Any:
    """Of Parquet. pyarrow is imported where it is needed alone: it takes longer to load than all else."""
    import pyarrow

    return pyarrow.schema(_fields(TURN))


def _fields(columns: Sequence[Column]) -> list[Any]:
    import pyarrow

    def type_of(kind: str) -> Any:
        plain = {TEXT: pyarrow.string, JSON: pyarrow.string, WHOLE: pyarrow.int64, NUMBER: pyarrow.float64}
        made = {
            **plain,
            FLAG: pyarrow.bool_,
            MOMENT: lambda: pyarrow.timestamp("us", tz="UTC"),
            TEXTS: lambda: pyarrow.list_(pyarrow.string()),
            USAGE: lambda: pyarrow.struct(
                [*((name, pyarrow.int64()) for name in TOKENS), (NO_REASONING, pyarrow.bool_())]
            ),
            ATTEMPTS: lambda: pyarrow.list_(pyarrow.struct(_fields(ATTEMPT))),
        }
        return made[kind]()

    return [pyarrow.field(column.name, type_of(column.kind)) for column in columns]
