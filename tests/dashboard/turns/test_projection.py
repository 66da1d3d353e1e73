"""The columns that the history's last failure says."""

import pytest

from agentcore.error_policy import ErrorPolicy
from agentcore.errors import ErrorType, ProviderError
from agentcore.events import ModelFailed, WokeUp
from agentcore.policy import Policy
from dashboard.turns.history import rebuilt_columns
from dashboard.turns.projection import failed_by
from tests.dashboard.conftest import Play
from tests.dashboard.turns.histories import answered, called, cut_twice, recorded, returned, started

RETRYING = Policy(error_policy=ErrorPolicy.retry_all(max_retries=5))


def failed(at: float, error: ErrorType) -> ModelFailed:
    return ModelFailed(at, ProviderError(error, error.value, "It failed."), None)


def type_of(*events: object, policy: Policy = RETRYING) -> str | None:
    recording = recorded(*events, policy=policy)  # type: ignore[arg-type]
    return failed_by(move for record in recording.records for move in record.transitions)


def test_without_a_failure_there_is_no_type():
    assert failed_by(move for record in cut_twice().records for move in record.transitions) is None


def test_the_type_is_that_of_the_last_failure_even_after_recovery():
    limited, timeout = failed(1.0, ErrorType.RATE_LIMIT), failed(3.0, ErrorType.TIMEOUT)
    assert type_of(started(), limited, WokeUp(2.0), answered(3.0, "Said.")) == "rate_limit"
    assert type_of(started(), limited, WokeUp(2.0), timeout, WokeUp(9.0), answered(9.5, "Said.")) == "timeout"


def test_a_failed_tool_counts_despite_a_later_answer():
    failing = returned(1.5, "a", "no", ErrorType.TOOL)
    assert type_of(started(), called(1.0, "a"), failing, answered(2.0, "So it is.")) == "tool"


@pytest.mark.django_db(transaction=True)
def test_the_row_matches_the_records(play: Play):
    turn = play("sim-500")
    assert turn.error_type is not None
    assert {column: getattr(turn, column) for column in rebuilt_columns(turn)} == rebuilt_columns(turn)
