"""How pages speak of the simulator: `{{ turn.provider|provider_of:turn.model }}` is `simulator` where the model is one
of its own, `{{ turn.model|simulated }}` tells whether it is; `{{ agent|shows }}`: what a built-in agent shows."""

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
def simulated(model: str) -> bool:
    return samples.is_simulated(model)


@register.filter
def shows(agent: Agent) -> str:
    return samples.shows(agent)
