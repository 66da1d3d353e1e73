import pytest

from dashboard.agents import selectors, services
from dashboard.agents.models import Connection, Project


@pytest.fixture
def project(db: None) -> Project:
    return selectors.project_default()


@pytest.fixture
def connection(project: Project) -> Connection:
    """An endpoint that gives at most 4096 tokens at a time."""
    return services.connection_create(
        project=project,
        name="near",
        provider="openai",
        base_url="http://127.0.0.1:9/v1",
        api_key_env="NEAR_API_KEY",
        max_output_tokens=4096,
    )
