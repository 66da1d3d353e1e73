"""The turns an agent had last."""

from dashboard.agents.selectors import project_default
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.models import Turn
from dashboard.turns.selectors import timeline

SHOWN = 12


def recent_turns(agent_name: str) -> list[Turn]:
    """Newest first."""
    return timeline(project=project_default(), filters=TimelineFilters(agent=(agent_name,)), limit=SHOWN).items
