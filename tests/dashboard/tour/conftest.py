"""A new database, as the first start leaves it."""

import pytest

from dashboard.agents.models import Project
from dashboard.agents.selectors import project_default
from dashboard.runtime.database_setup import seed
from dashboard.tour import services
from dashboard.tour.lessons import BY_KEY


@pytest.fixture
def project(empty_queue: None, simulator_url: str, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    seed(simulator_url=simulator_url)
    return project_default()


@pytest.fixture
def short(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project whose tour has three lessons, of which one runs another again."""
    monkeypatch.setattr(services, "FIRST", (BY_KEY["gave-up"], BY_KEY["whole-calls"]))
    monkeypatch.setattr(services, "AGAIN", (BY_KEY["forked"],))
    return project
