"""One call of the model, as the machine decided it."""

from dataclasses import dataclass

from agentcore.machine.states import State
from agentcore.messages import Message
from agentcore.reasons import AttemptKind
from agentcore.values import quickly_made


@quickly_made
@dataclass(frozen=True, slots=True)
class Call:
    """The call of the model that is pending, in flight, or just answered."""

    kind: AttemptKind  #: why it is made
    state: State  #: the call state it belongs to
    max_tokens: int  #: output limit
    hint: str | None = None  #: not None: the answer so far is sent, to be continued
    corrective: str = ""  #: appended to the system prompt
    echo: tuple[Message, ...] = ()  #: a paused answer, sent back unchanged
    clamped: bool = False  #: the requested budget was reduced to the connection's ceiling
    resume_token: str | None = None  #: of the truncated answer: the provider resumes it without a hint
    #: the setup's `extra["uncapped"]` as it was sent, where an operator has changed it since; empty: it had none
    sent_uncapped: str | None = None
    #: the setup's `max_tokens` when it was made, where an operator has changed it since
    asked_cap: int | None = None
