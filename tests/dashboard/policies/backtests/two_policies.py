"""A turn that two policies spoke of."""

from dashboard.agents.models import Policy
from dashboard.agents.selectors import project_default
from dashboard.policies.policy_creation import policy_create
from dashboard.policies.policy_versions import policy_attach
from tests.dashboard.driving import Play


def play_layered(play: Play) -> Policy:
    """The agent's policy, “own”, of a turn that ended by the word of the site's."""
    own = policy_create(project=project_default(), name="own", limits={"max_steps": 9}).policy
    site = policy_create(project=project_default(), name="site", limits={"max_continuations": 1}).policy
    policy_attach(project=project_default(), policy=site)
    assert play("sim-essay", max_tokens=150, policy=own).terminal_reason == "retry_limit"
    return own
