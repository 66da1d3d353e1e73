"""What a turn has used: tokens, calls, characters, seconds and failures."""

from dataclasses import dataclass, fields

from agentcore.values import quickly_made, replace


@quickly_made
@dataclass(frozen=True, slots=True)
class Spent:
    """What the turn has used so far. Tokens are summed over all attempts, failed and truncated ones too."""

    attempts: int = 0
    continuations: int = 0  #: resumes included
    tool_repairs: int = 0  #: calls of kind tool_repair
    envelope_retries: int = 0  #: calls of kind envelope_retry
    input_tokens: int = 0  #: cached ones included
    output_tokens: int = 0  #: reasoning included
    estimated: bool = False  #: some of these tokens are our estimate, not the provider's count
    output_chars: int = 0  #: of all iterations' answers
    seconds: float = 0.0  #: in the model and in tools
    consecutive_failures: int = 0  #: since the last iteration without any
    total_failures: int = 0  #: of the turn

    @property
    def total_tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens

    def less(self, before: "Spent") -> "Spent":
        """The usage since `before`. Consecutive failures and `estimated` are those of this value."""
        counts = (field.name for field in fields(self) if field.name not in ("estimated", "consecutive_failures"))
        return replace(self, **{name: getattr(self, name) - getattr(before, name) for name in counts})
