import pytest
from django.test import Client

from dashboard.accounts.models import User


@pytest.fixture
def browser(operator: User) -> Client:
    """A signed-in browser whose forms are taken without a CSRF token."""
    client = Client()
    client.force_login(operator)
    return client
