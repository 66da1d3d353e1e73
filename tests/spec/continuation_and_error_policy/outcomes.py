"""What the criteria of a story came to, last."""

from agentcore import ContinuationEvaluation, ContinuationOutcome
from tests.agentcore.playbook import Playbook


def outcome(story: Playbook) -> ContinuationOutcome:
    """The last outcome of the story; there must be one."""
    last = story.snapshot.outcome
    assert last is not None
    return last


def evaluation(story: Playbook, criterion: str) -> ContinuationEvaluation:
    """What the criterion said then; it must have been asked."""
    said = outcome(story).get_evaluation_for(criterion)
    assert said is not None
    return said
