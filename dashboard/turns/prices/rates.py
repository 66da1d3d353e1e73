"""List prices in US dollars, from the data that comes with `genai-prices`. An unknown model has no price, never 0."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache

from genai_prices import Usage
from genai_prices.data_snapshot import get_snapshot
from genai_prices.types import ModelInfo, Provider, TieredPrices

from agentcore.messages import TokenUsage

#: Whose list counts where an address is nobody's we know: who made the dialect. Ollama and llama.cpp run at home.
MAKERS: Mapping[str, str] = {
    "openai": "openai",
    "openai_responses": "openai",
    "anthropic": "anthropic",
    "gemini": "google",
    "bedrock": "aws",
    "cohere": "cohere",
}


@dataclass(frozen=True, slots=True)
class Price:
    """What calls cost. `estimated`: some of the tokens are an estimate. `basis`: whose prices, per million tokens."""

    dollars: Decimal
    estimated: bool
    basis: str


@dataclass(frozen=True, slots=True)
class Rate:
    """One model's list prices at one seller. Some rise with the length of the input: each call is priced by itself."""

    seller: Provider = field(compare=False)
    model: ModelInfo = field(compare=False)
    named: tuple[str, str]  #: the ids of both, by which rates are compared: the lists themselves are not hashable
    at: datetime

    def dollars(self, usage: TokenUsage) -> Decimal:
        """What a call cost. Cached input counts at its own price where there is one."""
        return _dollars(self, usage)

    def dollars_of(self, usages: Sequence[TokenUsage]) -> Decimal:
        """What many calls cost; priced at once where no price depends on a call's length."""
        if not self._is_flat:
            return sum((self.dollars(usage) for usage in usages), Decimal(0))
        cached = sum(min(usage.cached_tokens, usage.input_tokens) for usage in usages)
        came = sum(usage.input_tokens for usage in usages)
        went = sum(usage.output_tokens for usage in usages)
        return self.dollars(TokenUsage(came, went, cached_tokens=cached))

    @property
    def _is_flat(self) -> bool:
        prices = {name: price for name, price in vars(self.model.get_prices(self.at)).items() if price is not None}
        return all(isinstance(price, Decimal) for price in prices.values()) and "requests_kcount" not in prices

    @property
    def basis(self) -> str:
        """`gpt 4o at OpenAI's list price in US dollars per million tokens: 2.50 in, 10 out, 1.25 cached in`."""
        prices = self.model.get_prices(self.at)
        named = (("input_mtok", "in"), ("output_mtok", "out"), ("cache_read_mtok", "cached in"))
        told = [f"{_per_million(price)} {word}" for key, word in named if (price := getattr(prices, key, None))]
        name = self.model.name or self.model.id
        return f"{name} at {self.seller.name}'s list price, in US dollars per million tokens: {', '.join(told)}"


def _per_million(price: Decimal | TieredPrices) -> str:
    if isinstance(price, TieredPrices):
        return f"{price.base.normalize():f} or more"
    return f"{price.normalize():f}"


def rate_of(*, provider: str, model: str, address: str = "", at: datetime | None = None) -> Rate | None:
    """The list price of a model behind a dialect, as it was at that time. None where it is not known.

    `address`: where it was asked; a seller is known by it. An address nobody's (a proxy) counts as the dialect's maker.
    """
    found = _found(provider, model, _site(address))
    if found is None:
        return None
    seller, known = found
    return Rate(seller, known, (seller.id, known.id), at or datetime.now(UTC))


@lru_cache(maxsize=4096)  # a list prices the same calls each time it is shown
def _dollars(rate: Rate, usage: TokenUsage) -> Decimal:
    cached = min(usage.cached_tokens, usage.input_tokens)
    used = Usage(input_tokens=usage.input_tokens, output_tokens=usage.output_tokens, cache_read_tokens=cached)
    return rate.model.calc_price(used, rate.seller, genai_request_timestamp=rate.at).total_price


def _site(address: str) -> str:
    """The address without what comes after its path."""
    return address.split("?", 1)[0]


@lru_cache(maxsize=1024)
def _found(provider: str, model: str, address: str) -> tuple[Provider, ModelInfo] | None:
    snapshot = get_snapshot()
    try:
        seller = snapshot.find_provider(None, None, address or None)
    except LookupError:
        maker = MAKERS.get(provider)
        if maker is None:
            return None
        seller = snapshot.find_provider(None, maker, None)
    known = seller.find_model(model, all_providers=snapshot.providers)
    return None if known is None else (seller, known)


def priced(rate: Rate | None, usages: Iterable[TokenUsage], *, estimated: bool = False) -> Price | None:
    """All these calls together; None where the rate is not known."""
    if rate is None:
        return None
    return Price(sum((rate.dollars(usage) for usage in usages), Decimal(0)), estimated, rate.basis)
