"""A draft in place of its policy, among whatever else a turn ran under."""

import pytest

from dashboard.agents.models import PolicyVersion, Project
from dashboard.agents.policy_layers import layer_of, tried, versions_named
from dashboard.agents.policy_resolution import Layer, Level, resolve
from dashboard.policies.policy_creation import policy_create

pytestmark = pytest.mark.django_db

DRAFT = Layer(Level.AGENT, {"limits": {"max_steps": 7}}, policy="ours")


@pytest.fixture
def versions(project: Project) -> dict[str, PolicyVersion]:
    said = {"ours": {"max_steps": 2, "max_continuations": 2}, "near": {"max_continuations": 4}, "far": {"max_steps": 5}}
    return {name: policy_create(project=project, name=name, limits=limits) for name, limits in said.items()}


def ran_under(versions: dict[str, PolicyVersion], **levels: str) -> dict[str, object]:
    """The sources of a turn: names of policies by level, nearest first."""
    return resolve([layer_of(versions[name], Level(level), "somewhere") for level, name in levels.items()]).stored()


@pytest.mark.parametrize(
    ("levels", "steps", "continuations"),
    [
        ({"agent": "ours"}, 7, 3),
        ({"agent": "ours", "provider": "near"}, 7, 4),
        ({"agent": "near", "site": "ours"}, 7, 4),
        ({"provider": "far", "site": "ours"}, 5, 3),
        ({"agent": "near", "site": "far"}, 7, 3),
        ({"site": "near"}, 7, 4),
        ({}, 7, 3),
    ],
)
def test_the_draft_takes_the_level_of_its_policy_or_otherwise_that_of_the_agent(versions, levels, steps, continuations):
    stored = ran_under(versions, **levels)
    limits = tried(DRAFT, stored, {}, versions_named(stored)).limits
    assert (limits.max_steps, limits.max_continuations) == (steps, continuations)


def test_an_override_of_the_turn_takes_precedence(versions):
    stored = ran_under(versions, agent="ours")
    assert tried(DRAFT, stored, {"limits": {"max_steps": 1}}, versions_named(stored)).limits.max_steps == 1


def test_a_turn_from_before_layers_has_its_policy_as_the_only_layer():
    assert tried(DRAFT, None, {"limits": {"max_seconds": 9.0}}, versions_named(None)).limits.max_seconds == 9.0
