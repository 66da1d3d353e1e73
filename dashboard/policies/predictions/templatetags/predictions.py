"""`{% track_record turn %}`: how often what-ifs for a turn's model came true; of one certainty where that is given.
`{% suggestion_record turn said %}`: how often limits like the suggested one were enough. `{{ turn|may_be_rerun }}`:
whether whom the turn asks is known."""

from typing import Any

from django import template

from agentcore.replay import Certainty
from dashboard.live.turn_loader import may_be_rerun
from dashboard.policies.predictions.record_text import record_words
from dashboard.policies.predictions.selectors import record_of
from dashboard.policies.predictions.suggested_record import tally_of_suggestion, tally_words
from dashboard.policies.suggestions.suggestion import Suggestion
from dashboard.turns.models import Turn

register = template.Library()
register.filter(may_be_rerun)
#: Of these the numbers are told where no certainty is named.
TOLD = (Certainty.CERTAIN, Certainty.ESTIMATED)


@register.inclusion_tag("predictions/_record.html")
def track_record(turn: Turn, certainty: str = "") -> dict[str, Any]:
    """The sentences for the model of a turn. Of a certainty that is named it is also said that none was compared."""
    record = record_of(project=turn.project, provider=turn.provider, model=turn.model)
    if certainty:
        return {"sentences": [record_words(record.tally(Certainty(certainty)))], "model": turn.model}
    compared = [tally for tally in map(record.tally, TOLD) if tally.compared]
    return {"sentences": list(map(record_words, compared)), "model": turn.model}


@register.inclusion_tag("predictions/_suggestion_record.html")
def suggestion_record(turn: Turn, said: Suggestion) -> dict[str, Any]:
    """The sentence for the model of a turn; none for a value that claims nothing."""
    if not said.known:
        return {"sentence": ""}
    tally = tally_of_suggestion(said, project=turn.project, provider=turn.provider, model=turn.model)
    return {"sentence": tally_words(tally)}
