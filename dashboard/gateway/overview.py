"""The gateway's calls of the last hour or day: what they were told, by mode, and what we took of their time.

Read from an index alone (`turns_turn_called`), and of many calls only the latest `MOST`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from dashboard.agents.models import Project
from dashboard.gateway.models import GatewayCall
from dashboard.turns.models import Turn

MOST = 100_000  #: calls that are looked at
LATEST = 20

_OVERVIEW = """
WITH recent AS (
    SELECT mode, client_finish_reason, status, continued, disconnected, overhead_us FROM gateway_call
     WHERE project_id = %(project)s AND created_at > %(since)s ORDER BY created_at DESC LIMIT %(most)s
), told AS (
    SELECT *, coalesce(client_finish_reason, CASE WHEN disconnected THEN 'disconnected'
                                                  WHEN status >= 400 THEN 'error' ELSE 'unfinished' END) AS reason
      FROM recent
)
SELECT mode, reason, count(*), count(*) FILTER (WHERE continued),
       percentile_cont(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP (ORDER BY overhead_us)
  FROM told GROUP BY GROUPING SETS ((mode, reason), (mode), ()) ORDER BY 3 DESC, 1, 2
"""


@dataclass(frozen=True, slots=True)
class ReasonCount:
    """How many calls were told this, by mode."""

    word: str
    observe: int
    continued: int  #: in mode continue
    share: float  #: of all calls, 0 to 1

    @property
    def count(self) -> int:
        return self.observe + self.continued


@dataclass(frozen=True, slots=True)
class Overhead:
    """Milliseconds of ours; None: no call has told."""

    mode: str
    calls: int
    p50: float | None
    p95: float | None
    p99: float | None


@dataclass(frozen=True, slots=True)
class Overview:
    """Calls since a moment."""

    calls: int
    continued: int  #: of the calls, those made of more than one answer
    reasons: list[ReasonCount]
    overheads: list[Overhead]

    @property
    def continued_share(self) -> float:
        return self.continued / self.calls if self.calls else 0.0

    @property
    def capped(self) -> bool:
        """There were more, which were not looked at."""
        return self.calls >= MOST


@dataclass(frozen=True, slots=True)
class CallView:
    """One call beside its turn."""

    call: GatewayCall
    turn: Turn

    @property
    def overhead_ms(self) -> float | None:
        return None if self.call.overhead_us is None else self.call.overhead_us / 1000


def overview_of(project: Project, *, since: datetime) -> Overview:
    """What calls were told since then."""
    with connection.cursor() as cursor:
        cursor.execute(_OVERVIEW, {"project": project.pk, "since": since, "most": MOST})
        rows = cursor.fetchall()
    whole = next(row for row in rows if row[0] is None)
    counts: dict[str, dict[str, int]] = {}
    for mode, reason, count, _, _ in rows:
        if reason is not None:
            counts.setdefault(reason, {})[mode] = count
    reasons = [_reason(word, by_mode, whole[2]) for word, by_mode in counts.items()]
    modes = sorted(row for row in rows if row[0] is not None and row[1] is None)
    overheads = [_overhead(mode, count, shares) for mode, _, count, _, shares in modes]
    return Overview(whole[2], whole[3], sorted(reasons, key=lambda reason: -reason.count), overheads)


def _reason(word: str, by_mode: dict[str, int], calls: int) -> ReasonCount:
    observe, continued = by_mode.get("observe", 0), by_mode.get("continue", 0)
    return ReasonCount(word, observe, continued, (observe + continued) / calls)


def _overhead(mode: str, calls: int, shares: list[float | None] | None) -> Overhead:
    known: list[float | None] = [share / 1000 for share in shares or () if share is not None]
    p50, p95, p99 = known if len(known) == 3 else [None] * 3
    return Overhead(mode, calls, p50, p95, p99)


def latest_calls(project: Project) -> list[CallView]:
    """The last calls whose turns are still there, newest first."""
    calls = list(GatewayCall.objects.filter(project_id=project.pk).order_by("-created_at")[:LATEST])
    turns = Turn.objects.in_bulk([call.turn_id for call in calls])
    return [CallView(call, turns[call.turn_id]) for call in calls if call.turn_id in turns]


def call_of(turn_id: UUID) -> dict[str, Any]:
    """For a turn's page: `call` is None where it came another way."""
    call = GatewayCall.objects.filter(turn_id=turn_id).first()
    overhead = call.overhead_us / 1000 if call is not None and call.overhead_us is not None else None
    return {"call": call, "overhead_ms": overhead}
