"""People who may and may not change policies, and a turn that a time limit ended."""

from dataclasses import replace

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from dashboard.accounts.models import User
from dashboard.agents import selectors
from dashboard.agents.models import Project
from dashboard.simulator.model_table import MODELS
from dashboard.turns.models import Turn
from tests.dashboard.driving import Play


@pytest.fixture
def project(db: None) -> Project:
    return selectors.project_default()


@pytest.fixture
def ann(db: None) -> User:
    """Someone with the right to change policies."""
    user = User.objects.create_user("ann", is_staff=True)
    named = Permission.objects.filter(codename__in=("view_policy", "change_policy", "add_policy"))
    user.user_permissions.add(*named.filter(content_type__app_label="agents"))
    return user


@pytest.fixture
def viewer(db: None) -> Client:
    """A browser of someone who may look."""
    user = User.objects.create_user("vera", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="view_policy", content_type__app_label="agents"))
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def anns(ann: User) -> Client:
    """Ann's browser."""
    client = Client()
    client.force_login(ann)
    return client


@pytest.fixture
def late(play: Play, monkeypatch: pytest.MonkeyPatch) -> Turn:
    """A turn that its time limit ended. The model takes 1.4 seconds here in place of 14, so its re-runs soon end."""
    monkeypatch.setitem(MODELS, "sim-slow", replace(MODELS["sim-slow"], token_ms=4))
    return play("sim-slow", overrides={"limits": {"max_seconds": 0.2}})
