"""How the database finds turns (see `turn_query`, `search_terms`). What an index includes makes reading the rows
needless."""

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchQuery, SearchVectorExact, SearchVectorField
from django.db import models

#: The arguments of `whystop_search`, in its order. It gives the words of question and answer, and terms of what else
#: there is to find by (`search_terms`). Only the index keeps what it gives: as a column it took twice the bytes of the
#: texts.
SEARCHED = (
    "id", "input_text", "output_text", "stop_reason", "model_stop_reason", "status", "provider", "model",
    "agent_name", "error_type", "continuations", "tool_repairs", "envelope_retries", "tags", "input_tokens",
    "output_tokens", "duration_ms",
)  # fmt: skip

#: What a turn took itself: limits do not count the time for which it was held.
TOOK_SQL = "(duration_ms - held_ms)"
TOOK = models.F("duration_ms") - models.F("held_ms")
#: The same; null where the log that the turn was read from gives no times (`Turn.untimed`).
TIMED = models.Case(models.When(duration_ms=0, attempts__gt=0, then=None), default=TOOK)

FINDING = [
    *(
        models.Index(name=f"turns_turn_{name}", fields=fields, include=include)
        for name, fields, include in (
            ("walk", ["project", "-id"], ["cohort", "tokens", "duration_ms", "held_ms"]),
            ("cohort", ["cohort", "-id"], ["tokens", "duration_ms", "held_ms"]),
            ("tokens", ["project", "tokens"], ["id", "cohort", "duration_ms", "held_ms"]),
        )
    ),
    models.Index(
        models.F("project"),
        TOOK,
        name="turns_turn_duration",
        include=["id", "cohort", "tokens", "duration_ms", "held_ms"],
    ),
]

#: Of the few turns that have any.
MARKED = [
    models.Index(
        name=f"turns_turn_{name}",
        fields=["project", "-id"],
        include=["cohort", "tokens", "duration_ms", "held_ms"],
        condition=condition,
    )
    for name, condition in (
        ("tagged", ~models.Q(tags=[])),
        ("linted", ~models.Q(lint=[])),
        ("held", models.Q(held_ms__gt=0)),
    )
]

WORDS = models.Func(*SEARCHED, function="whystop_search", output_field=SearchVectorField())
WORDS_SQL = f"whystop_search({', '.join(SEARCHED)})"

#: Its pending list (kB) is read by every search, and whoever fills it empties it, so it is kept short.
SEARCHING = GinIndex(WORDS, gin_pending_list_limit=128, name="turns_turn_words")


def found_by(query: SearchQuery) -> models.Q:
    """That a turn is found by its words and terms."""
    return models.Q(SearchVectorExact(WORDS, query))


#: Until when raw answers are kept. A turn that was given up has no end: it counts from when it was made. In UTC and
#: without a zone, for an index wants what no setting can change.
RAW_UNTIL = "coalesce(finished_at, created_at) AT TIME ZONE 'UTC' + keep_raw_days * interval '1 day'"
RAW_DUE = models.Index(
    models.Func(template=f"({RAW_UNTIL})", output_field=models.DateTimeField()),
    condition=models.Q(keep_raw_days__isnull=False, raw_removed_at=None),
    name="turns_turn_raw_due",
)

#: Records in which somebody acted on a turn: few among many.
ACTED = models.Index(
    fields=["turn_id", "seq"], condition=models.Q(event__type="operator_acted"), name="turns_record_acted"
)

#: Of turns that go on from one another (`run_keys`): by their run, by the turn before, by what would be gone on from.
RUNNING_ON = [
    models.Index(name=f"turns_turn_{name}", fields=fields, condition=models.Q(**{f"{column}__isnull": False}))
    for name, column, fields in (
        ("run", "run_id", ["run_id", "id"]),
        ("follows", "follows", ["follows"]),
        ("answered", "answered_key", ["answered_key", "-id"]),
    )
]
