"""`{% track_record turn %}`: how often what-ifs for a turn's model came true; of one certainty where that is given."""

from typing import Any

from django import template

from agentcore.replay import Certainty
from dashboard.predictions.selectors import record_of
from dashboard.predictions.words import record_words
from dashboard.turns.models import Turn

register = template.Library()
#: Of these the numbers are told where no certainty is named.
TOLD = (Certainty.CERTAIN, Certainty.ESTIMATED)


@register.inclusion_tag("predictions/_record.html")
def track_record(turn: Turn, certainty: str = "") -> dict[str, Any]:
    """The sentences for the model of a turn."""
    record = record_of(project=turn.project, provider=turn.provider, model=turn.model)
    asked = (Certainty(certainty),) if certainty else TOLD
    tallies = [record.tally(each) for each in asked]
    compared = [tally for tally in tallies if tally.compared]
    return {"sentences": [record_words(tally) for tally in compared], "model": turn.model}
