"""List prices: whose they are, what a call costs by them, and that nothing unknown is free."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from agentcore.messages import TokenUsage
from agentcore.providers import PROVIDERS
from dashboard.turns.prices.rates import MAKERS, priced, rate_of
from dashboard.turns.prices.templatetags.prices import dollars_in_words, money
from tests.together import together

AT = datetime(2026, 1, 1, tzinfo=UTC)
HOME = "http://127.0.0.1:8000/v1"


def dollars(provider: str, model: str, usage: TokenUsage, address: str = "") -> Decimal:
    price = priced(rate_of(provider=provider, model=model, address=address, at=AT), [usage])
    assert price is not None
    return price.dollars


def test_a_call_costs_its_input_and_its_output():
    assert dollars("openai", "gpt-4o", TokenUsage(1_000_000, 100_000)) == Decimal("3.5")


def test_cached_input_is_priced_as_cached_input():
    whole = dollars("openai", "gpt-4o", TokenUsage(1_000_000, 0))
    cached = dollars("openai", "gpt-4o", TokenUsage(1_000_000, 0, cached_tokens=1_000_000))
    assert cached < whole
    assert dollars("openai", "gpt-4o", TokenUsage(10, 0, cached_tokens=99)) > 0


@pytest.mark.parametrize(
    ("provider", "model"),
    [("openai", "gpt-4o"), ("anthropic", "claude-sonnet-4-5"), ("gemini", "gemini-1.5-pro")],  # long calls cost more
)
def test_many_calls_cost_the_sum_of_each(provider: str, model: str):
    rate = rate_of(provider=provider, model=model, at=AT)
    assert rate is not None
    usages = [TokenUsage(1_000, 10), TokenUsage(900_000, 5_000, cached_tokens=2_000), TokenUsage(5, 0, cached_tokens=9)]
    assert rate.dollars_of(usages) == sum(rate.dollars(usage) for usage in usages)
    assert rate.dollars_of([]) == 0


@together
@pytest.mark.parametrize(
    ("provider", "model", "address", "seller"),
    [
        ("openai", "gpt-4o", "https://api.openai.com/v1/chat/completions", "openai"),
        ("openai", "gpt-4o", HOME, "openai"),
        ("openai", "llama-3.3-70b-versatile", "https://api.groq.com/openai/v1/chat/completions", "groq"),
        ("openai_responses", "gpt-4o", "", "openai"),
        ("anthropic", "claude-sonnet-4-5", "", "anthropic"),
        ("gemini", "gemini-2.5-pro", "", "google"),
        ("cohere", "command-r-plus", "", "cohere"),
    ],
)
def test_the_seller_is_known_by_the_url_or_otherwise_by_the_maker_of_the_dialect(provider, model, address, seller):
    rate = rate_of(provider=provider, model=model, address=address, at=AT)
    assert rate is not None
    assert rate.seller.id == seller


@together
@pytest.mark.parametrize(
    ("provider", "model", "address"),
    [
        ("openai", "sim-essay", HOME),
        ("openai", "sim-essay", ""),
        ("openai", "no-such-model", "https://api.openai.com/v1"),
        ("ollama", "llama3", HOME),
        ("llama", "gpt-4o", ""),
    ],
)
def test_an_unknown_model_has_no_price_and_is_never_free(provider, model, address):
    rate = rate_of(provider=provider, model=model, address=address, at=AT)
    assert rate is None
    assert priced(rate, [TokenUsage(1, 1)]) is None
    assert money(None) == "price not known"


def test_every_dialect_has_a_seller_or_runs_locally():
    assert set(PROVIDERS) - set(MAKERS) == {"ollama", "llama"}


def test_the_basis_names_model_seller_currency_and_unit():
    rate = rate_of(provider="openai", model="gpt-4o", at=AT)
    assert rate is not None
    assert rate.basis == (
        "gpt 4o at OpenAI's list price, in US dollars per million tokens: 2.5 in, 10 out, 1.25 cached in"
    )


@together
@pytest.mark.parametrize(
    ("amount", "words"),
    [
        ("0", "$0.00"),
        ("0.0034875", "$0.00349"),
        ("0.5", "$0.500"),
        ("0.0000012", "$0.00000120"),
        ("1234.5", "$1,234.50"),
    ],
)
def test_money_is_written_with_significant_digits(amount, words):
    assert dollars_in_words(Decimal(amount)) == words


def test_an_estimate_is_marked():
    price = priced(rate_of(provider="openai", model="gpt-4o", at=AT), [TokenUsage(1, 1)], estimated=True)
    assert money(price).startswith("≈ $0.0000125")
