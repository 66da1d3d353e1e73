"""Prepares the turn of a call: its first event, its policy, and the request to send upstream. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from agentcore.events import Setup, Started
from agentcore.json_mode import ANY_OBJECT, json_asked
from agentcore.providers.wire.request_messages import HEADERS
from agentcore.values import quickly_made, replace
from dashboard.gateway.access.callers import Caller
from dashboard.gateway.recording.recorder_messages import NewTurn
from dashboard.gateway.routing import CONTINUE, OBSERVE, ResolvedPolicy, Route
from dashboard.gateway.wire.caller_dialect import CallerDialect
from dashboard.gateway.wire.caller_dialects import BY_DIALECT
from dashboard.gateway.wire.chat.dialect import CHAT
from dashboard.gateway.wire.faults import Fault, item_unknown, unsupported
from dashboard.gateway.wire.parsed_request import ParsedRequest, shown_input
from dashboard.gateway.wire.request_fields import extra_of, tools_of, wants_json
from dashboard.gateway.wire.responses.dialect import RESPONSES
from dashboard.gateway.wire.signatures import signed
from dashboard.platform.fields import storable_text
from dashboard.turns.sent_caps import DEFAULT_CAP, sent_cap, unset_cap

MOST_SHOWN = 100_000  #: characters of the question that the timeline keeps; all of it is in the request


@quickly_made
@dataclass(frozen=True, slots=True)
class PreparedCall:
    """A call about to be driven. `verbatim`: the body that goes up as the client wrote it; None: the codec's."""

    id: UUID
    asked: ParsedRequest
    route: Route
    mode: str
    ruling: ResolvedPolicy
    started: Started
    new_turn: NewTurn
    verbatim: Mapping[str, Any] | None

    @property
    def door(self) -> CallerDialect:
        """The dialect of the caller."""
        return BY_DIALECT[self.asked.dialect]

    @property
    def handed_up(self) -> Mapping[str, str]:
        """The caller's headers that go to an upstream of its dialect."""
        return self.asked.headers if same_dialect(self.asked, self.route) else {}

    @property
    def observes(self) -> bool:
        return self.mode == OBSERVE


def same_dialect(asked: ParsedRequest, route: Route) -> bool:
    """Whether the upstream speaks the caller's own dialect."""
    return asked.dialect == route.provider.name


def mode_of(asked: ParsedRequest, route: Route, caller: Caller) -> str:
    """Several answers, the probabilities of each token, and what a provider's own tools leave in an answer cannot be
    put together: those calls are only watched."""
    return OBSERVE if asked.several else caller.mode or route.mode or CONTINUE


def refused(asked: ParsedRequest, route: Route) -> Fault | None:
    """The fault of a request that an upstream of another dialect cannot take."""
    if same_dialect(asked, route):
        return None
    if asked.refers_to:
        return item_unknown(asked.refers_to[0])
    who = f"the connection “{route.connection.name}” speaks {route.provider.name}"
    if asked.beyond_text is not None:
        return unsupported(asked.beyond_text, f"{who}, to which the gateway forwards text only")
    if asked.several:
        return unsupported(asked.several, f"{who}, which does not know it")
    if asked.beyond:
        return unsupported(asked.beyond, f"{who}, which does not support it")
    if asked.offered.other:
        return unsupported("tools", f"{who}, which does not know tools of type '{asked.offered.other}'")
    return None


def prepare_call(
    turn_id: UUID, asked: ParsedRequest, route: Route, caller: Caller, created_at: datetime | None = None
) -> PreparedCall:
    """Prepare the turn of a call that has passed all checks."""
    mode = mode_of(asked, route, caller)
    ruling = route.rulings[mode]
    setup = _setup(turn_id, asked, route, mode)
    is_google = route.provider.name == "gemini"
    started = Started(0.0, setup, signed(asked.messages) if is_google else asked.messages)
    verbatim = _body(asked, route) if mode == OBSERVE and same_dialect(asked, route) else None
    new_turn = NewTurn(
        id=turn_id,
        project_id=route.project_id,
        agent_id=route.agent_id,
        agent_name=route.name,
        provider=route.provider.name,
        model=route.model,
        max_tokens=sent_cap(setup),
        input_text=storable_text(shown_input(asked.messages)[:MOST_SHOWN]),
        started=started,
        ruling=ruling,
        body=asked.raw,
        created_at=created_at or datetime.now(UTC),
        created_by_id=caller.user_id,
        caller=caller.name,
        key_id=caller.key_id,
        mode=mode,
        stream=asked.stream,
        n=(asked.body.get("n") or 1) if asked.dialect == CHAT.dialect else 1,
        legacy=asked.offered.legacy,
        by_items=asked.dialect == RESPONSES.dialect,
    )
    return PreparedCall(turn_id, asked, route, mode, ruling, started, new_turn, verbatim)


def _setup(turn_id: UUID, asked: ParsedRequest, route: Route, mode: str) -> Setup:
    dialect, connection = route.provider.name, route.connection
    cap = route.max_tokens if asked.max_tokens is None else asked.max_tokens
    schema = asked.envelope_schema
    if schema is None and mode == CONTINUE and route.envelope_schema is not None:
        schema = route.envelope_schema
        asked = _without_format(asked)
    extra = {**route.settings, **extra_of(asked, dialect)}
    any_json = None if schema is not None else ANY_OBJECT if wants_json(asked) else json_asked(dialect, extra)
    if cap is None:
        extra |= unset_cap(dialect)  # so the provider's own counts, where it has one
    if asked.headers and same_dialect(asked, route):
        extra[HEADERS] = dict(asked.headers)
    return Setup(
        turn_id=str(turn_id),
        provider=dialect,
        model=route.model,
        max_tokens=_within(DEFAULT_CAP if cap is None else cap, connection.max_output_tokens, mode),
        system_prompt=route.system_prompt,
        tools=tools_of(asked, dialect),
        envelope_schema=schema if any_json is None else any_json,
        any_json=None if any_json is None else True,
        ceiling=connection.max_output_tokens,
        context_window=connection.context_window,
        output_floor=route.provider.output_floor,
        extra=extra,
        client_tools=True,
    )


def _without_format(asked: ParsedRequest) -> ParsedRequest:
    """The agent says what is a valid answer: an upstream that is asked for text, or for any JSON, would not give it."""
    return replace(asked, fields={name: value for name, value in asked.fields.items() if name != "response_format"})


def _within(cap: int, ceiling: int | None, mode: str) -> int:
    """A cap above the connection's ceiling is an error upstream; what is continued need not ask for so much at once."""
    return cap if ceiling is None or mode == OBSERVE else min(cap, ceiling)


def _body(asked: ParsedRequest, route: Route) -> dict[str, Any]:
    """The client's body, for the model that was meant, with what the agent is told and may use."""
    door = BY_DIALECT[asked.dialect]
    body = {**asked.body, "model": route.model} if door.names_model else {**asked.body}
    if route.system_prompt:
        door.prompt(body, route.system_prompt)
    if route.agent_id is not None and asked.max_tokens is None and route.max_tokens:
        if door.cap is None:
            body[route.connection.max_tokens_field] = route.max_tokens
        else:
            door.cap(body, route.max_tokens)
    return body
