"""What of a turn's tables is evidence: each column is chained, compared with what it is made of, or free for a reason.

A test walks over every column of every table of `dashboard.turns` and of `row_parts.origin_tables`: a new one has to be
decided here.
"""

from collections.abc import Mapping

from dashboard.turns import derived_rows, models

#: Chained as the turn itself, since there were chains.
TURN = (
    "agent_name", "provider", "status", "stop_reason", "terminal_reason", "raw_stop_reason", "error_code",
    "error_message", "input_text", "output_text", "input_tokens", "output_tokens", "max_tokens", "created_at",
    "started_at", "finished_at", "duration_ms", "policy", "overrides", "setup", "breakpoints", "forked_at",
    "base_snapshot", "envelope", "last_seq",
)  # fmt: skip
#: Chained too, in turns that were chained later. Another version of the core words some of it in another way.
REST = (
    "model", "state", "model_stop_reason", "resource", "error_type", "notice", "verdict", "tokens_estimated",
    "attempts", "continuations", "tool_repairs", "envelope_retries", "policy_sources", "keep_raw_days", "lint",
    "core_version", "position",
)  # fmt: skip
#: To which row a turn leads, and what that is in words: chained by its id, which the row's removal takes away.
LINKS: Mapping[str, str] = {
    "created_by": "who started it",
    "parent": "the turn it was forked from",
    "policy_version": "the version of its policy",
    "agent": "its agent",
    "project": "its project",
    "conversation": "its conversation",
    "imported_by": "who imported it",
}
IMPORTER = "imported_by"  #: is its origin's (`row_parts`)
#: However the row holds them.
RECORD = ("at", "event", "transitions", "command", "observed", "core_version")
ATTEMPT = (
    "kind", "iteration", "provider", "model", "max_tokens", "request_sha256", "request_url", "status_code",
    "response_headers", "content_type", "stop_reason", "raw_stop_reason", "usage", "text", "tool_calls", "error",
    "started_at", "first_token_ms", "duration_ms",
)  # fmt: skip
ORIGIN = ("original_id", "sha256", "exported_at", "imported_at", "signature", "public_key", "doubt")
ORIGIN_REST = ("core_version", "installation", "told")
#: Of a turn that was made of a trace or of a log.
INGESTED = (
    "project_id", "sender", "trace", "spans", "instrumentations", "log", "service", "provider", "loop", "loop_reason",
    "policy", "notes", "ingested_at",
)  # fmt: skip
#: Of a call through the gateway, which stands in the turn's row: how it was asked, and what its caller was told.
CALL = "call_"
ASKED = ("key_id", "caller", "mode", "stream", "n")
TOLD = ("status", "client_finish_reason", "finish_source", "continued", "overhead_us", "answer_id")
CALL_FREE: Mapping[str, str] = {"disconnected": "a caller may go while the last of the answer is sent"}
PIECE = ("n", "at", "text")
CLAIM = ("call_id", "name", "claimed_at", "idempotent")
CAME_BACK = ("result", "error", "finished_at")  #: of a claim, which may still be added when the turn has ended
CHECKPOINT = ("snapshot", "core_version")

#: By table. A row's key is part of its chain.
CHAINED: Mapping[type, tuple[str, ...]] = {
    models.Turn: ("id", *TURN, *REST, *(name for name in LINKS if name != IMPORTER)),
    models.Record: ("turn_id", "seq", "at", "core_version", "packed"),
    models.Attempt: ("turn_id", "index", *ATTEMPT, "raw", "raw_text", "raw_at"),
    models.AttemptChunk: ("turn_id", "attempt", "raw", *PIECE),
    models.Checkpoint: ("turn_id", "seq", *CHECKPOINT),
    models.ToolClaim: ("turn_id", *CLAIM, *CAME_BACK),
}
ORIGIN_ROW = ("turn", *ORIGIN, *ORIGIN_REST, IMPORTER)
INGESTED_ROW = ("turn", *INGESTED)
#: With what a column is compared, for it is made of that.
COMPARED: Mapping[type, Mapping[str, str]] = {
    models.Turn: {
        "node": "it is chained with all messages up to there",
        "shared": "it is chained with all values up to there",
        "cut_sign": "the answers of its records",
        "cohort": "its values are those of the turn",
        "held_ms": "the records",
        "raw_removed_at": "the signed notes of removals",
    },
    models.Record: {
        **dict.fromkeys(("event", "transitions", "command", "observed"), "the same as compressed beside them"),
        "judged": "the transitions",
        "length": "how many are compressed beside it",
    },
    models.Attempt: {"request": "its digest is chained"},
    models.StrayOutcome: dict.fromkeys(("turn_id", "seq", "position", *derived_rows.JUDGEMENT), "the records"),
    models.Node: dict.fromkeys(("id", "parent", "packed"), "it is chained with each turn that refers to it"),
    models.TurnMessage: dict.fromkeys(("turn_id", "n", "wire"), "they are chained with their turn"),
    models.ClientRequest: dict.fromkeys(("turn_id", "frame", "body"), "it is chained with its turn"),
    models.Cohort: dict.fromkeys(
        ("id", "project", *(name for name in derived_rows.COHORT if name != "project_id"), *derived_rows.COUNTED),
        "the turns that are counted in it",
    ),
}
#: Why a change of it is no forgery.
FREE: Mapping[type, Mapping[str, str]] = {
    models.Turn: {
        "tags": "operators change them",
        "tokens": "the database computes it",
        "run_id": "turns are linked later too",
        "follows": "turns are linked later too",
        "answered_key": "a digest of its conversation, for linking",
        "history_keys": "digests of its conversation, for linking",
    },
    models.Cohort: {"key": "a digest of the rest", "left_at": "it says when the row may be deleted"},
    models.LooseNode: {"id": "what is to be swept"},
}
INGESTED_FREE: Mapping[str, str] = {
    "digest": "a digest of the turn's history and of the rest",
    "extent": "how much a log told, to compare its next account with",
}
