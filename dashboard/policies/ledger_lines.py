"""One line of the ledger: whose word stopped turns, since it was set so, and what those turns had cost."""

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from agentcore.messages import TokenUsage
from dashboard.agents.samples import is_simulated
from dashboard.policies.field_settings import Setting
from dashboard.policies.field_text import LEVEL_WORDS, label_of, value_in_words
from dashboard.turns.prices.rates import Price, priced, rate_of

EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class LimitSetting:
    """Whose word stopped turns: a field at a level, of a policy or of nobody (a default, or turns' own overrides)."""

    field: str
    level: str
    policy: str = ""
    policy_id: UUID | None = None
    since: datetime | None = None  #: when it was set to what it said then


@dataclass(slots=True)
class LedgerLine:
    """One line of the ledger, added up turn by turn."""

    said: LimitSetting
    setting: Setting | None = None
    ended: datetime | None = None  #: when it was set otherwise again; None: it still says so
    value: Any = None  #: in the newest turn it stopped
    output_tokens: int = 0
    unanswered: int = 0  #: turns of which nothing at all was left
    spent: dict[tuple[str, str], list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0]))
    turn_ids: list[UUID] = field(default_factory=list)  #: the newest first

    @property
    def turns(self) -> int:
        return len(self.turn_ids)

    @property
    def examples(self) -> list[UUID]:
        return self.turn_ids[:EXAMPLES]

    @property
    def query(self) -> str:
        """What the address of its turns says, beside the days."""
        said = self.said
        since = said.since.isoformat() if said.since else ""
        return urlencode({"field": said.field, "level": said.level, "policy": said.policy_id or "", "since": since})

    @property
    def was(self) -> str:
        """The query of a what-if under the number it was before; empty where there was none."""
        before = self.setting.was if self.setting else None
        return "" if before is None else urlencode({self.said.field.partition(".")[2]: before})

    @property
    def label(self) -> str:
        return label_of(self.said.field)

    @property
    def shown(self) -> str:
        """What it said; where no policy says it, what it said when it last stopped a turn."""
        return value_in_words(self.said.field, self.setting.value if self.setting else self.value)

    @property
    def words(self) -> str:
        return LEVEL_WORDS[self.said.level]

    @property
    def cut_short(self) -> int:
        """Turns that ended with only part of an answer."""
        return self.turns - self.unanswered

    @property
    def model(self) -> str:
        """A model of these turns where all are of the simulator, which is free; else empty."""
        models = [model for _, model in self.spent]
        return models[0] if models and all(map(is_simulated, models)) else ""

    @property
    def price(self) -> Price | None:
        """What these turns cost; None where some of their models' prices are not known."""
        each = [
            priced(rate_of(provider=provider, model=model), [TokenUsage(taken, given)], estimated=True)
            for (provider, model), (taken, given) in self.spent.items()
        ]
        known = [price for price in each if price is not None]
        if not known or len(known) < len(each):
            return None
        return Price(sum((price.dollars for price in known), start=known[0].dollars * 0), True, known[0].basis)
