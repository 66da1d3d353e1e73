"""What the recording predicts for a re-run. `policies.predictions` provides it (`platform.provided`)."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from django.db import transaction

from agentcore.replay import Recording
from dashboard.platform.provided import Provided
from dashboard.turns.models import Turn


class Purpose(Protocol):
    """Why a turn is re-run. Only who predicts knows more of it."""

    @property
    def queue(self) -> str: ...


class Forecast(Protocol):
    """A prediction that is not saved yet."""

    def save(self, *, force_insert: bool) -> None: ...


class Forecaster(Protocol):
    """Makes predictions; None where there is nothing to say."""

    @property
    def RERUN(self) -> Purpose: ...  # noqa: N802 (a constant of its module)

    def trying(self, suggestion: Any) -> Purpose:
        """Of a re-run that tries a suggested limit (`policies.suggestions`)."""

    @property
    def predicted(self) -> Callable[..., Forecast | None]:
        """Given `parent`, `child`, `wanted` and `purpose`: of a re-run from the start or from a record."""

    def predicted_on(
        self, *, parent: Turn, child: Turn, found: Recording, wanted: Mapping[str, Any]
    ) -> Forecast | None:
        """Of a turn that goes on live from where a what-if was undecidable."""


forecaster = Provided[Forecaster]("predictions of re-runs")


def kept_with(child: Turn, foretold: Forecast | None, queue: Callable[[Turn], Any]) -> Turn:
    """Store a new turn by `queue`, and what is predicted for it, both or neither."""
    with transaction.atomic():
        queue(child)
        if foretold is not None:
            foretold.save(force_insert=True)
    return child
