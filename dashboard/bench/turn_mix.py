"""A realistic mix of turns, made by chance from a seed: what they say, how they end, whose they are, how long it took.

The words have Zipf's distribution, so that some are in every answer and some in a few. Agents, models and ends hang
together as they do in life: envelopes are one team's, a model was retired, one night a provider was away. So there are
filters that are common each and never come together, and stretches of time without what is looked for.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from random import Random

SYLLABLES = ("ba", "co", "di", "fu", "ga", "he", "jo", "ki", "lu", "ma", "ne", "po", "ra", "si", "tu", "va", "we", "zo")
WORDS = 20_000
RARE_WORD = "xylotheque"  #: in one turn of RARE_EVERY
RARE_EVERY = 100_000


@dataclass(frozen=True, slots=True)
class End:
    """One way a turn ends: `weight` of 1000, the columns that say so, and how many attempts it takes (from, to)."""

    weight: float
    columns: Mapping[str, object]
    attempts: tuple[int, int] = (1, 1)
    teams: tuple[str, ...] = ("chat", "tools", "forms")
    silent: bool = False  #: no text came
    counts: str = ""  #: the column that counts the attempts after the first


def _end(
    status: str, stop: str | None, model: str | None, terminal: str | None = None, **more: object
) -> dict[str, object]:
    said = {"status": status, "stop_reason": stop, "model_stop_reason": model, "terminal_reason": terminal or stop}
    return said | more


ENDS = (
    End(560, _end("completed", "completed", "end_turn")),
    End(120, _end("completed", "completed", "end_turn"), (2, 4), counts="continuations"),
    End(120, _end("completed", "completed", "end_turn"), (2, 8), ("tools",)),
    End(45, _end("partial", "retry_limit", "max_tokens", resource="max_continuations"), (4, 4), counts="continuations"),
    End(
        15,
        _end("partial", "token_limit", "max_tokens", "budget_exhausted", resource="max_total_completion_tokens"),
        (2, 3),
        counts="continuations",
    ),
    End(
        4,
        _end("partial", "guard", "max_tokens", "output_cap", resource="max_total_output_chars"),
        (2, 4),
        counts="continuations",
    ),
    End(6, _end("partial", "guard", "max_tokens", "repetition"), (3, 3), counts="continuations"),
    End(3, _end("partial", "steps_limit", "tool_call", "forbidden", resource="max_steps"), (20, 20), ("tools",)),
    End(25, _end("completed", "completed", "end_turn", error_type="rate_limit"), (2, 3)),
    End(10, _end("completed", "completed", "end_turn", error_type="tool"), (2, 5), ("tools",)),
    End(
        22,
        _end("failed", "error", None, "provider_error", error_type="rate_limit", error_code="rate_limit"),
        silent=True,
    ),
    End(12, _end("failed", "error", None, "provider_error", error_type="timeout", error_code="timeout"), silent=True),
    End(6, _end("failed", "error", None, "provider_error", error_type="model", error_code="server"), silent=True),
    End(5, _end("partial", "error", "unknown", "provider_error", error_type="model", error_code="incomplete_stream")),
    End(10, _end("aborted", "finish_reason", "safety_blocked", "safety_blocked"), silent=True),
    End(6, _end("aborted", "finish_reason", "context_window_exceeded", "context_window_exceeded"), silent=True),
    End(12, _end("cancelled", "user_requested", None, "cancelled")),
    End(9, _end("completed", "completed", "end_turn"), (2, 3), ("forms",), counts="envelope_retries"),
    End(
        3,
        _end("failed", "retry_limit", "end_turn", "envelope_invalid", resource="schema_rounds"),
        (4, 4),
        ("forms",),
        counts="envelope_retries",
    ),
    End(5, _end("completed", "completed", "end_turn"), (2, 2), ("tools",), counts="tool_repairs"),
    End(
        2,
        _end("partial", "retry_limit", "max_tokens", "tool_repair_failed", resource="max_tool_repair_attempts"),
        (2, 2),
        ("tools",),
        counts="tool_repairs",
    ),
    End(0.3, _end("interrupted", "error", None, "interrupted", error_code="interrupted")),
    End(0.05, _end("held", None, "max_tokens")),
)
OUTAGE = ENDS[10]  #: how turns on OUT_PROVIDER ended while it was away

#: Provider and model; the retired one is used in the first third of the time only.
MODELS = (
    ("openai", "gpt-4.1-mini"), ("openai", "gpt-4.1"), ("anthropic", "claude-sonnet-4-5"),
    ("anthropic", "claude-haiku-4-5"), ("gemini", "gemini-2.5-flash"), ("gemini", "gemini-2.5-pro"),
    ("openai_responses", "gpt-5"), ("bedrock", "nova-pro"), ("cohere", "command-a"), ("ollama", "llama3.3"),
)  # fmt: skip
RETIRED = ("openai", "gpt-4o")
OUT_PROVIDER = "anthropic"
#: Of the time: when the provider was away.
OUTAGE_AT = (0.62, 0.6215)
TEAMS = ("chat", "chat", "tools", "chat", "tools", "forms", "chat", "tools", "chat", "forms", "chat", "tools")
NAMES = (
    "front-desk", "tutor", "coder", "summarizer", "shopper", "intake", "travel", "analyst", "translator", "invoices",
    "night-audit", "ops",
)  # fmt: skip
TAGS = (("batch-7", 0.10), ("reviewed", 0.02), ("golden", 0.0005))


def vocabulary() -> list[str]:
    """Different words, most frequent first; the same each time."""
    chance = Random(7)  # noqa: S311 - a benchmark wants the same words each time
    words: dict[str, None] = {}
    while len(words) < WORDS:
        words["".join(chance.choices(SYLLABLES, k=3 + len(words) // 2_500))] = None
    return list(words)


class Mix:
    """Turns one after another; the same seed makes the same ones but for their ids' chance."""

    def __init__(self, seed: int = 1) -> None:
        self.chance = Random(seed)  # noqa: S311 - and the same turns
        self.words = vocabulary()
        self.word_weights = list(accumulate(1 / (rank + 2) for rank in range(WORDS)))
        self.agent_weights = list(accumulate(1 / (rank + 1) ** 1.1 for rank in range(len(NAMES))))
        self.ends = {
            team: (ends, list(accumulate(end.weight for end in ends)))
            for team in set(TEAMS)
            for ends in [[end for end in ENDS if team in end.teams]]
        }

    def turn(self, n: int, progress: float) -> dict[str, object]:
        """The `n`th turn, made when `progress` (0 to 1) of the time has passed."""
        chance = self.chance
        agent = chance.choices(range(len(NAMES)), cum_weights=self.agent_weights)[0]
        provider, model = self._model(agent, progress)
        end = self._end(TEAMS[agent], provider, progress)
        attempts = chance.randint(*end.attempts)
        input_tokens = int(chance.lognormvariate(5.5, 1.2)) * attempts
        output_tokens = 0 if end.silent else int(chance.lognormvariate(5.2, 1.0)) * attempts
        said = "" if end.silent else self.text(12, 90)
        return {
            "agent_name": NAMES[agent],
            "provider": provider,
            "model": model,
            **end.columns,
            "input_text": f"{self.text(6, 24)} {RARE_WORD}" if n % RARE_EVERY == 0 else self.text(6, 24),
            "output_text": said,
            "input_tokens": input_tokens,
            "output_tokens": output_tokens,
            "attempts": attempts,
            **({end.counts: attempts - 1} if end.counts else {}),
            "duration_ms": int(output_tokens * chance.uniform(6, 18) + attempts * chance.lognormvariate(6.2, 0.6)),
            "tags": [tag for tag, share in TAGS if chance.random() < share],
        }

    def text(self, least: int, most: int) -> str:
        chosen = self.chance.choices(self.words, cum_weights=self.word_weights, k=self.chance.randint(least, most))
        return " ".join(chosen).capitalize() + "."

    def _model(self, agent: int, progress: float) -> tuple[str, str]:
        """Mostly the agent's own."""
        if progress < 1 / 3 and self.chance.random() < 0.15:
            return RETIRED
        other = self.chance.random() < 0.12
        return MODELS[self.chance.randrange(len(MODELS)) if other else agent * 7 % len(MODELS)]

    def _end(self, team: str, provider: str, progress: float) -> End:
        if provider == OUT_PROVIDER and OUTAGE_AT[0] <= progress < OUTAGE_AT[1]:
            return OUTAGE
        ends, weights = self.ends[team]
        return self.chance.choices(ends, cum_weights=weights)[0]
