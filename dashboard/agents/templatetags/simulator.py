"""How pages speak of the simulator: `{{ row.provider|provider_of:row.model }}` is `simulator` where the model is one
of its own, `{{ model|simulated }}` tells whether it is; `{{ agent|agent_provider }}` goes by the connection;
`{{ agent|shows }}`: what a built-in agent shows. Of turns, see `turn_provider`."""

from django import template

from dashboard.agents import samples
from dashboard.agents.models import Agent, Connection
from dashboard.simulator.model_table import provider_shown

register = template.Library()


@register.filter
def provider_of(provider: str, model: str) -> str:
    return provider_shown(provider, model)


@register.filter
def connection_provider(connection: Connection) -> str:
    return samples.connection_provider_shown(connection)


@register.filter
def agent_provider(agent: Agent) -> str:
    return samples.agent_provider_shown(agent)


@register.filter
def simulated(model: str) -> bool:
    return samples.is_simulated(model)


@register.filter
def shows(agent: Agent) -> str:
    return samples.shows(agent)
