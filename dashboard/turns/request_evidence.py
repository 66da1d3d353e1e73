"""Compares the calls in the history with the requests stored on the attempts.

Each command follows from the events before it, so the request of each call can be made again: its body, its kind, its
model, its cap. A fault is a sentence, with the record it is about.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from agentcore import VERSION, serial
from agentcore.commands import CallModel
from agentcore.errors import CoreError
from agentcore.providers import PROVIDERS, get_provider
from agentcore.replay import Recording, step_again
from agentcore.values import replace
from dashboard.platform.fields import as_stored
from dashboard.turns.evidence import Fault
from dashboard.turns.history import body_text, sha256_of
from dashboard.turns.models import Attempt
from dashboard.turns.sent_caps import cap_agrees

CLOCKS_DIFFER = timedelta(hours=1)  #: what the clocks of two machines may differ by
#: The columns of an attempt that its command gives.
COMMANDED = ("kind", "iteration", "provider", "model", "max_tokens", "started_at")
OTHER_WORDS = (
    "The request of attempt {index} is not in the format that this version writes ({keys}), so it cannot be compared "
    "with the expected request."
)
OTHER_ADDRESS = (
    "The address of attempt {index} does not end like the addresses of its provider, so it cannot be compared."
)
OTHER_OBSERVED = (
    "The observations of another version in record {seq} differ from those of this version, so they cannot be compared."
)

BodyOf = Callable[[Attempt], str]


@dataclass(frozen=True, slots=True)
class RecordStamp:
    """When a record was written, and by which version of the core."""

    at: datetime
    core_version: str

    @property
    def is_ours(self) -> bool:
        """Whether this version of the core judged then."""
        return self.core_version == VERSION


@dataclass(frozen=True, slots=True)
class CommandedCall:
    """A call as its first command has it. `of_client`: a client of the gateway may have written the body itself."""

    seq: int
    at: datetime
    command: CallModel
    iteration: int
    provider: str
    of_client: bool
    is_ours: bool  #: whether this version of the core gave the command

    def column(self, name: str) -> object:
        """What the attempt's column of this name must have."""
        request = self.command.request
        match name:
            case "kind":
                return self.command.kind.value
            case "started_at":
                return self.at
            case "iteration" | "provider":
                return getattr(self, name)
        return getattr(request, name)

    def has(self, name: str, stored: object) -> bool:
        """Whether the attempt's column of this name may have this value."""
        if name == "max_tokens":
            return cap_agrees(stored, self.command.request)
        return bool(stored == as_stored(self.column(name)))


@dataclass(frozen=True, slots=True)
class CommandedCalls:
    """The calls of a history by the number of their attempt, and the records that do not tell what was observed.

    `unlike`: those that this version wrote; `otherwise`: those of another version, which may have told it otherwise.
    """

    asked: Mapping[int, CommandedCall]
    unlike: Sequence[int] = ()
    otherwise: Sequence[int] = ()


def calls_of(recording: Recording, written: Sequence[RecordStamp]) -> CommandedCalls:
    """The calls of a history that replays. `written`: of each of its records."""
    snapshot, asked = recording.base_snapshot, dict[int, CommandedCall]()
    unlike, otherwise = list[int](), list[int]()
    for record, row in zip(recording.records, written, strict=True):
        step = step_again(snapshot, recording, record)
        snapshot = step.snapshot
        if list(record.observed) != [serial.observation_to_json(one) for one in step.observed]:
            (unlike if row.is_ours else otherwise).append(record.seq)
        command, setup = step.command, snapshot.asked
        if isinstance(command, CallModel) and command.attempt not in asked:
            of_client = bool(setup.client_tools)
            asked[command.attempt] = CommandedCall(
                record.seq, row.at, command, snapshot.iteration, setup.provider, of_client, row.is_ours
            )
    return CommandedCalls(asked, unlike, otherwise)


def call_faults(calls: CommandedCalls, attempts: Iterable[Attempt], body_of: BodyOf) -> Iterator[Fault]:
    """Every attempt that is not the call that was asked for. `body_of`: the exact text of its request."""
    for seq in calls.unlike:
        yield Fault(seq, f"The observations of record {seq} are not the expected ones.")
    for row in attempts:
        asked = calls.asked.get(row.index)
        if asked is None:
            yield Fault(max(1, len(calls.asked)), f"Attempt {row.index} is stored, and no record asks for it.")
            continue
        for name in COMMANDED:
            if not asked.has(name, getattr(row, name)):
                words = f"The {name} of attempt {row.index} does not match its record."
                yield Fault(asked.seq, words)
        if asked.is_ours and not asked.of_client and (keys := _unlike(asked, row, body_of)):
            words = f"The request of attempt {row.index} is not the one that was to be sent: {', '.join(keys)}."
            yield Fault(asked.seq, words)


def requests_unproven(calls: CommandedCalls, attempts: Iterable[Attempt], body_of: BodyOf) -> tuple[str, ...]:
    """The requests, addresses and observations that cannot be compared, each in a sentence."""
    open_ = [(row, calls.asked[row.index]) for row in attempts if row.index in calls.asked]
    unlike = [(row.index, _unlike(asked, row, body_of)) for row, asked in open_ if asked.of_client or not asked.is_ours]
    requests = [OTHER_WORDS.format(index=index, keys=", ".join(keys)) for index, keys in unlike if keys]
    addresses = [
        OTHER_ADDRESS.format(index=row.index) for row, asked in open_ if not _may_go_to(row.request_url, asked)
    ]
    return (*requests, *addresses, *(OTHER_OBSERVED.format(seq=seq) for seq in calls.otherwise))


def _unlike(asked: CommandedCall, row: Attempt, body_of: BodyOf) -> list[str]:
    """The keys of a body that are not as this version writes them; none where the body is the one."""
    if asked.provider not in PROVIDERS:
        return ["unknown provider"]
    bodies = [_body(asked, stream) for stream in (True, False)]  # clients of the gateway may ask for a whole answer
    if None in bodies:
        return ["it cannot be written"]
    if row.request_sha256 in [sha256_of(body_text(body)) for body in bodies if body is not None]:
        return []
    try:
        sent = json.loads(body_of(row))
    except (ValueError, RecursionError):
        sent = None
    if not isinstance(sent, dict):
        return ["it cannot be read"]
    ours = bodies[0] if sent.get("stream", True) else bodies[1]
    assert ours is not None, "both were written"
    return sorted(key for key in ours.keys() | sent.keys() if ours.get(key) != sent.get(key)) or ["form"]


def _may_go_to(address: str, asked: CommandedCall) -> bool:
    """Whether a request like this goes there, whatever the connection's own address; a trace may tell none."""
    return not address or any(address.endswith(path) for path in map(partial(_path, asked), (True, False)) if path)


def _path(asked: CommandedCall, stream: bool) -> str:
    """Empty where a provider is not known, or no path can be written."""
    try:
        return get_provider(asked.provider).path(replace(asked.command.request, stream=stream))
    except (CoreError, TypeError, ValueError, KeyError, AttributeError):  # as of a body
        return ""


def _body(asked: CommandedCall, stream: bool) -> dict[str, object] | None:
    try:
        return get_provider(asked.provider).encode_request(replace(asked.command.request, stream=stream))
    except (CoreError, TypeError, ValueError, KeyError, AttributeError):  # a history of any origin may ask for anything
        return None
