"""Sums brought up to date: minutes whose turns changed are summed again, then the longer spans they are of.

`timeline.rollups.fold` notes these minutes. They are taken hour by hour, the newest first, each hour in one transaction
that forgets the notes: a turn that changes meanwhile is noted again.

Callers write any name. Of a span the names with the most tokens have rows of their own, so what the board reads is
bounded; the rest are summed under `other`.
"""

import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from django.db import connection, transaction

from dashboard.board.measures import BOUNDS, FAILURES, OTHER
from dashboard.platform.ids import first_id_at
from dashboard.timeline.rollups import LEVELS

SUM_SECONDS = 10.0  #: between two looks
REST = 20  #: times as long as it took, before the next look
MOST_NAMES = 200  #: agents with provider and model of one span that have a row of their own
#: Only one sums at a time; the number is arbitrary and only ours.
LOCK = 7_260_431_121

TAKE = """
WITH newest AS (
    SELECT project_id, date_trunc('hour', minute, 'UTC') AS hour
      FROM timeline_changedminute ORDER BY minute DESC LIMIT 1)
DELETE FROM timeline_changedminute changed USING newest
 WHERE changed.project_id = newest.project_id
   AND changed.minute >= newest.hour AND changed.minute < newest.hour + interval '1 hour'
RETURNING changed.project_id, changed.minute
"""
FORGET = "DELETE FROM board_sum WHERE project_id = %(project)s AND seconds = %(seconds)s AND start = ANY(%(starts)s)"
MINUTES = """
WITH made AS MATERIALIZED (
    SELECT id, whystop_minute(id) AS start, left(agent_name, 200) AS agent_name, left(provider, 200) AS provider,
           left(model, 200) AS model, status, stop_reason, model_stop_reason, continuations, tool_repairs,
           envelope_retries, input_tokens, output_tokens, lint,
           CASE WHEN duration_ms > 0 OR attempts = 0 THEN duration_ms - held_ms END AS took_ms
      FROM turns_turn WHERE project_id = %(project)s AND id >= %(low)s AND id < %(high)s
       AND whystop_minute(id) = ANY(%(starts)s)
), cached AS (
    SELECT turn_id, sum((usage->>'cached_tokens')::bigint) AS tokens FROM turns_attempt
     WHERE turn_id >= %(low)s AND turn_id < %(high)s AND (usage->>'cached_tokens')::bigint > 0 GROUP BY turn_id
), again AS (
    SELECT id AS turn_id, tool_repairs > 0 AS is_call FROM made
     WHERE (tool_repairs > 0 OR envelope_retries > 0)
       AND continuations = 0 AND model_stop_reason IS DISTINCT FROM 'max_tokens'
       AND EXISTS (SELECT FROM turns_attempt said WHERE said.turn_id = made.id
                      AND said.turn_id >= %(low)s AND said.turn_id < %(high)s
                      AND (said.stop_reason = 'max_tokens' OR said.tool_calls @> '[{"issue": "truncated"}]'))
), plain AS (
    SELECT start, agent_name, provider, model, count(*) AS turns,
           count(*) FILTER (WHERE status NOT IN ('queued', 'running', 'held')) AS ended,
           count(*) FILTER (WHERE status = ANY(%(failures)s)) AS failed,
           count(*) FILTER (WHERE continuations > 0 OR model_stop_reason = 'max_tokens') AS cut,
           count(*) FILTER (WHERE again.is_call) AS cut_calls,
           count(*) FILTER (WHERE NOT again.is_call) AS cut_envelopes,
           count(*) FILTER (WHERE continuations > 0) AS continued, sum(continuations) AS continuations,
           sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens,
           coalesce(sum(cached.tokens), 0) AS cached_tokens, count(*) FILTER (WHERE lint <> '[]') AS linted
      FROM made LEFT JOIN cached ON cached.turn_id = made.id LEFT JOIN again ON again.turn_id = made.id
     GROUP BY 1, 2, 3, 4
), counted AS (
    SELECT start, agent_name, provider, model, measure, value FROM plain CROSS JOIN LATERAL (VALUES
           ('turns', turns), ('ended', ended), ('failed', failed), ('cut', cut),
           ('cut_calls', cut_calls), ('cut_envelopes', cut_envelopes), ('continued', continued),
           ('continuations', continuations), ('input_tokens', input_tokens), ('output_tokens', output_tokens),
           ('cached_tokens', cached_tokens), ('linted', linted)) each_of (measure, value)
    UNION ALL
    SELECT start, agent_name, provider, model, 'model_stop_reason:' || model_stop_reason, count(*)
      FROM made WHERE model_stop_reason IS NOT NULL GROUP BY 1, 2, 3, 4, 5
    UNION ALL
    SELECT start, agent_name, provider, model, 'stop_reason:' || stop_reason, count(*)
      FROM made WHERE stop_reason IS NOT NULL GROUP BY 1, 2, 3, 4, 5
    UNION ALL
    SELECT start, agent_name, provider, model, 'lint:' || code, count(*)
      FROM made CROSS JOIN LATERAL jsonb_array_elements_text
           (CASE jsonb_typeof(lint) WHEN 'array' THEN lint ELSE '[]' END) code WHERE lint <> '[]' GROUP BY 1, 2, 3, 4, 5
    UNION ALL
    SELECT start, agent_name, provider, model,
           'took:' || width_bucket((took_ms / 1000.0)::float8, %(bounds)s::float8[]), count(*)
      FROM made WHERE continuations > 0 AND took_ms IS NOT NULL GROUP BY 1, 2, 3, 4, 5
    UNION ALL
    SELECT start, agent_name, made.provider, made.model, 'failed_predictions', count(*)
      FROM made JOIN predictions_prediction prediction ON prediction.child_id = made.id
     WHERE (prediction.came_true IS FALSE OR prediction.suggested_came_true IS FALSE)
       AND prediction.kind <> 'check' GROUP BY 1, 2, 3, 4, 5
)
INSERT INTO board_sum (project_id, seconds, start, agent_name, provider, model, sums)
SELECT %(project)s, 60, start, agent_name, provider, model, jsonb_object_agg(measure, value)
  FROM counted WHERE value <> 0 GROUP BY start, agent_name, provider, model
"""
LONGER = """
INSERT INTO board_sum (project_id, seconds, start, agent_name, provider, model, sums)
SELECT %(project)s, %(seconds)s, start, agent_name, provider, model, jsonb_object_agg(measure, value)
  FROM (SELECT whole.start, agent_name, provider, model, measure, sum(part::numeric) AS value
          FROM unnest(%(starts)s::timestamptz[]) whole (start)
          JOIN board_sum piece ON piece.project_id = %(project)s AND piece.seconds = %(shorter)s
           AND piece.start >= whole.start AND piece.start < whole.start + %(seconds)s * interval '1 second'
         CROSS JOIN LATERAL jsonb_each_text(piece.sums) each_of (measure, part)
         GROUP BY 1, 2, 3, 4, 5) counted
 GROUP BY start, agent_name, provider, model
"""
#: What is beyond the most rows of a span goes into one row of these names, whose sums those of an earlier fold join.
BEYOND = """
WITH placed AS (
    SELECT start, agent_name, provider, model, row_number() OVER (
           PARTITION BY start ORDER BY coalesce((sums->>'output_tokens')::numeric, 0) DESC,
           (sums->>'turns')::numeric DESC NULLS LAST, agent_name, provider, model) AS place
      FROM board_sum WHERE project_id = %(project)s AND seconds = %(seconds)s AND start = ANY(%(starts)s)
), gone AS (
    DELETE FROM board_sum whole USING placed named
     WHERE whole.project_id = %(project)s AND whole.seconds = %(seconds)s
       AND (whole.start, whole.agent_name, whole.provider, whole.model)
         = (named.start, named.agent_name, named.provider, named.model)
       AND (named.place > %(most)s OR (named.agent_name, named.provider, named.model) = ({names}))
    RETURNING whole.start, whole.agent_name, whole.provider, whole.model, whole.sums
), counted (start, agent_name, provider, model, measure, value) AS (
    SELECT named.start, {names}, each_of.measure, sum(each_of.part::numeric)
      FROM gone named CROSS JOIN LATERAL jsonb_each_text(named.sums) each_of (measure, part) GROUP BY 1, 2, 3, 4, 5
)
INSERT INTO board_sum (project_id, seconds, start, agent_name, provider, model, sums)
SELECT %(project)s, %(seconds)s, start, agent_name, provider, model, jsonb_object_agg(measure, value)
  FROM counted GROUP BY start, agent_name, provider, model
"""
#: First the models of each agent and provider; where these are too many themselves, all.
FOLDS = ("named.agent_name, named.provider, %(other)s", "%(other)s, %(other)s, %(other)s")


def sum_in_time() -> int:
    """As `sum_all`, unless that took long just now: a minute of very many turns is summed again and again."""
    began = time.monotonic()
    if began < _pace.resting_until:
        return 0
    summed = sum_all()
    ended = time.monotonic()
    _pace.resting_until = ended + REST * (ended - began)
    return summed


def sum_all() -> int:
    """Bring all sums up to date; returns how many minutes were summed again."""
    summed = 0
    while minutes := _sum_hour():
        summed += minutes
    return summed


@dataclass
class _Pace:
    resting_until: float = 0.0


_pace = _Pace()  #: of this process


@transaction.atomic
def _sum_hour() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [LOCK])
        if cursor.fetchone() != (True,):
            return 0
        cursor.execute(TAKE)
        taken = cursor.fetchall()
        if taken:
            _sum_minutes(cursor, taken[0][0], sorted(minute for _, minute in taken))
    return len(taken)


def _sum_minutes(cursor: Any, project: int, minutes: list[datetime]) -> None:
    """`minutes`: some of one hour, in order."""
    given: dict[str, Any] = {"project": project, "bounds": list(BOUNDS), "failures": list(FAILURES)}
    reach = {"low": first_id_at(minutes[0]), "high": first_id_at(minutes[-1] + timedelta(minutes=1))}
    cursor.execute(FORGET, given | {"seconds": 60, "starts": minutes})
    cursor.execute(MINUTES, given | reach | {"starts": minutes})
    _fold(cursor, given | {"seconds": 60, "starts": minutes})
    for shorter, seconds in pairwise(reversed(LEVELS)):
        spans = {"seconds": seconds, "shorter": shorter, "starts": [_floor(minutes[0], seconds)]}
        cursor.execute(FORGET, given | spans)
        cursor.execute(LONGER, given | spans)
        _fold(cursor, given | spans)


def _fold(cursor: Any, spans: dict[str, Any]) -> None:
    """After the spans' rows were inserted: no more than MOST_NAMES of each, and one for each agent and provider."""
    if cursor.rowcount > MOST_NAMES:
        for n, names in enumerate(FOLDS, 1):
            cursor.execute(BEYOND.format(names=names), spans | {"other": OTHER, "most": n * MOST_NAMES})


def _floor(moment: datetime, seconds: int) -> datetime:
    return datetime.fromtimestamp(int(moment.timestamp()) // seconds * seconds, moment.tzinfo)
