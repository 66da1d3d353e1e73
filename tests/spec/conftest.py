"""The simulator and agents on it, and a caller with a token, for rules that are shown over HTTP."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from dashboard.accounts.services import bootstrap_token_ensure
from tests.dashboard.conftest import agent_of, connection, play, simulator_url

__all__ = ["agent_of", "connection", "play", "simulator_url"]

TOKEN = "a-token-of-24-characters-or-more"


@pytest.fixture
def get(client: Client, db: None) -> Callable[[str], Any]:
    """The answer of an address to a caller with a token."""
    bootstrap_token_ensure(token=TOKEN)
    return lambda path: client.get(path, HTTP_AUTHORIZATION=f"Bearer {TOKEN}")
