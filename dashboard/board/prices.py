"""What the tokens of sums cost, at list prices as they are now: one call's tokens are priced as any other's."""

from dataclasses import dataclass, field

from agentcore.messages import TokenUsage
from dashboard.agents.models import Agent, Project
from dashboard.board.measures import CACHED, INPUT, OUTPUT
from dashboard.board.metrics import Sums
from dashboard.turns.prices.rates import Rate, rate_of

#: So many tokens are priced at once, so that a price that rises with the length of a call stays at its lowest.
ONE_CALL = 1_000


@dataclass
class PriceList:
    """The rates of one project, each looked up once."""

    project: Project
    _addresses: dict[str, str] | None = None
    _rates: dict[tuple[str, str, str], tuple[float, float, float] | None] = field(default_factory=dict)

    def dollars(self, agent: str, provider: str, model: str, sums: Sums) -> float:
        """What these tokens cost; 0 where the model has no known price."""
        rates = self._per_token(agent, provider, model)
        if rates is None:
            return 0.0
        cached = min(sums.get(CACHED, 0), sums.get(INPUT, 0))
        return (sums.get(INPUT, 0) - cached) * rates[0] + sums.get(OUTPUT, 0) * rates[1] + cached * rates[2]

    def is_known(self, agent: str, provider: str, model: str) -> bool:
        return self._per_token(agent, provider, model) is not None

    def _per_token(self, agent: str, provider: str, model: str) -> tuple[float, float, float] | None:
        key = (agent, provider, model)
        if key not in self._rates:
            rate = rate_of(provider=provider, model=model, address=self._address(agent))
            self._rates[key] = None if rate is None else _per_token(rate)
        return self._rates[key]

    def _address(self, agent: str) -> str:
        if self._addresses is None:
            rows = Agent.objects.filter(project=self.project).values_list("name", "connection__base_url")
            self._addresses = dict(rows)
        return self._addresses.get(agent, "")


def _per_token(rate: Rate) -> tuple[float, float, float]:
    """Dollars of a token that goes in, of one that comes out, and of one that goes in from the cache."""
    usages = (
        TokenUsage(ONE_CALL, 0),
        TokenUsage(0, ONE_CALL),
        TokenUsage(ONE_CALL, 0, cached_tokens=ONE_CALL),
    )
    into, out, cached = (float(rate.dollars(usage)) / ONE_CALL for usage in usages)
    return into, out, cached
