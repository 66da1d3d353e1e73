"""What a turn and an attempt have in a file: their names, Parquet's types and what they mean. JSONL has the same names.

A value that is itself JSON (`JSON`) is text in Parquet, and the value itself in JSONL.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

TEXT, WHOLE, NUMBER, FLAG, MOMENT, TEXTS, JSON = "text", "whole", "number", "flag", "moment", "texts", "json"
USAGE, ATTEMPTS = "usage", "calls"


@dataclass(frozen=True, slots=True)
class Column:
    """`kind`: one of the words above."""

    name: str
    kind: str
    meaning: str


_UNSENT = "; empty: none was sent. If an import does not record it, the number that Whystop calculates with"
TURN: Sequence[Column] = (
    Column("id", TEXT, "the turn"),
    Column("created_at", MOMENT, "time of its creation"),
    Column("started_at", MOMENT, "start; empty: it has not started"),
    Column("finished_at", MOMENT, "end; empty: it has not ended"),
    Column("duration_ms", WHOLE, "from start to end"),
    Column("agent", TEXT, "the agent's name"),
    Column("provider", TEXT, "the dialect of the connection"),
    Column("model", TEXT, "the model's name"),
    Column("status", TEXT, "the status of the turn"),
    Column("stop_reason", TEXT, "why the agent stopped"),
    Column("model_stop_reason", TEXT, "why the model stopped, normalized"),
    Column("raw_stop_reason", TEXT, "the provider's own stop reason"),
    Column("terminal_reason", TEXT, "why the turn ended, more precise than `stop_reason`"),
    Column("resource", TEXT, "the limit that ended it"),
    Column("error_type", TEXT, "the type of the last failure, even if a retry succeeded"),
    Column("error_code", TEXT, "the code of the error that ended the turn"),
    Column("verdict", TEXT, "why it stopped, in a sentence, by its recording alone"),
    Column("notice", TEXT, "the notice that came with the answer"),
    Column("input_text", TEXT, "the prompt"),
    Column("output_text", TEXT, "the answer"),
    Column("envelope", JSON, "the accepted value of a structured answer"),
    Column("max_tokens", WHOLE, f"the limit that the first call was sent{_UNSENT}"),
    Column("input_tokens", WHOLE, "of all calls"),
    Column("output_tokens", WHOLE, "of all calls"),
    Column("tokens_estimated", FLAG, "whether some of these token counts are estimates"),
    Column("cost_usd", NUMBER, "at list prices; empty: the price is not known, or it is `simulated`"),
    Column("cost_estimated", FLAG, "whether the price depends on estimated token counts"),
    Column("attempts", WHOLE, "model calls"),
    Column("continuations", WHOLE, "continuations of a truncated answer"),
    Column("tool_repairs", WHOLE, "repairs of broken tool calls"),
    Column("envelope_retries", WHOLE, "retries of structured answers"),
    Column("lint", TEXTS, "signs of truncation, whatever the stop reason"),
    Column("tags", TEXTS, "set by operators"),
    Column("policy_version", WHOLE, "the number of its policy's version"),
    Column("run_id", TEXT, "the run: the id of its first turn"),
    Column("parent_id", TEXT, "the turn it was forked from"),
    Column("forked_at", WHOLE, "the number of the parent's record at the fork"),
    Column("origin", JSON, "where an imported turn came from"),
    Column("ingested", JSON, "the trace or log that the turn was built from"),
    Column("attempt_list", ATTEMPTS, "its calls, in order: see below"),
    Column("suggestion", JSON, "the limit that would have let it finish, as its page shows it; empty: none"),
    Column("simulated", FLAG, "whether the built-in simulator answered, which costs nothing"),
)
ATTEMPT: Sequence[Column] = (
    Column("index", WHOLE, "from 1"),
    Column("kind", TEXT, "`initial`, `after_tools`, `continuation`, `resume`, `tool_repair`, …"),
    Column("iteration", WHOLE, "the iteration of the agent's loop"),
    Column("provider", TEXT, "the dialect of the request"),
    Column("model", TEXT, "the model that was called"),
    Column("max_tokens", WHOLE, f"the limit that this call was sent{_UNSENT}"),
    Column("status_code", WHOLE, "the HTTP status of the provider's response"),
    Column("stop_reason", TEXT, "why the model stopped, normalized"),
    Column("raw_stop_reason", TEXT, "the provider's own stop reason"),
    Column("usage", USAGE, "the tokens that the provider reported"),
    Column("tokens_estimated", FLAG, "whether an answer came without usage"),
    Column("text", TEXT, "the text of the answer"),
    Column("tool_calls", JSON, "the tools it called"),
    Column("error", JSON, "the error, if the call failed"),
    Column("started_at", MOMENT, "time when the request was sent"),
    Column("first_token_ms", WHOLE, "until the first token arrived"),
    Column("duration_ms", WHOLE, "until the call ended"),
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
