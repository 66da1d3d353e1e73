"""Alerts on turns that just ended."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from dashboard.accounts.models import User
from dashboard.agents.selectors import project_default
from dashboard.board.alerts.models import Alert
from dashboard.board.alerts.services import alert_create
from dashboard.platform.email_server import EmailServer
from tests.dashboard.board.alerts.mail_server import MailServer, mail_server
from tests.dashboard.board.test_sum_updates import brought_up_to_date
from tests.dashboard.timeline.populations import make_turn

AlertOf = Callable[..., Alert]


@pytest.fixture
def owner(db: None) -> User:
    return User.objects.get_or_create(username="owner")[0]


@pytest.fixture
def alert_of(owner: User) -> AlertOf:
    """On the truncation rate of five minutes, above 50 %."""

    def make(**columns: Any) -> Alert:
        usual = {"name": "Cut off", "metric": "truncation_rate", "number": 50, "window_minutes": 5}
        return alert_create(project=project_default(), by=owner, **{**usual, **columns})

    return make


@pytest.fixture
def smtp(settings: Any) -> Iterator[MailServer]:
    """A mail server that Whystop is told of as its environment tells it."""
    with mail_server() as server:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_IS_SET_UP = True
        settings.ADDRESS = "https://whystop.example"
        for name, value in EmailServer.read(f"smtp://127.0.0.1:{server.port}").settings().items():
            setattr(settings, name, value)
        yield server


def now() -> datetime:
    """A whole minute, long enough ago that its turns are summed."""
    return timezone.now().replace(second=30, microsecond=0)


def turns(at: datetime, *, cut: int = 0, whole: int = 0, **columns: Any) -> None:
    """Turns of the minute before this one, cut off or whole, summed."""
    made = at - timedelta(minutes=1)
    for n in range(cut + whole):
        reason = "max_tokens" if n < cut else "end_turn"
        make_turn(made, **{"status": "completed", "model_stop_reason": reason, **columns})
    brought_up_to_date()
