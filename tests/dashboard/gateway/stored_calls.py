"""Calls as the gateway stores them, in the rows of their turns."""

from datetime import datetime
from typing import Any

from django.db import connection

from dashboard.gateway.models import GatewayCall
from dashboard.turns.models import Turn

PLAIN: dict[str, Any] = {
    "caller": "",
    "mode": "observe",
    "stream": False,
    "n": 1,
    "finish_source": "",
    "continued": False,
}


def call_stored(turn: Turn, *, at: datetime, **told: Any) -> GatewayCall:
    """The turn's call, which came at that time."""
    columns: dict[str, Any] = {**PLAIN, "disconnected": False, **told}
    values = ", ".join(f"call_{name} = %({name})s" for name in columns)
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE turns_turn SET created_at = %(at)s, {values} WHERE id = %(turn)s",
            {**columns, "at": at, "turn": turn.id},
        )
    return GatewayCall.objects.get(turn_id=turn.id)
