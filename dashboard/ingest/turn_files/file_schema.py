"""The shape of a turn file (docs/reference/turn-file.md). Types are strict, unknown fields are refused.

What models and providers said is `Any`, for it may hold what no text may: U+0000 and lone surrogates.
"""

import base64
import binascii
import json
import re
from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from agentcore.providers import PROVIDERS
from agentcore.reasons import AttemptKind
from dashboard.ingest.turn_files.judgement_schemas import Command, Observation, Transition
from dashboard.platform.fields import UNSTORABLE
from dashboard.turns.comments.models import MAX_CHARS
from dashboard.turns.request_frames import MESSAGE_KEYS
from dashboard.turns.tags import MOST_CHARACTERS, MOST_TAGS, is_tag

FORMAT, VERSION = "whystop.turn", 1


def _moment(given: Any) -> datetime:
    if not isinstance(given, str):
        raise ValueError("It must be a time, as text")
    moment = datetime.fromisoformat(given)
    if moment.tzinfo is None or not 1970 <= moment.year < 9999:
        raise ValueError("It must be a time in or after 1970, with its offset from UTC")
    return moment.astimezone(UTC)


def _bytes(given: Any) -> bytes:
    if not isinstance(given, str):
        raise ValueError("It must be bytes in base64")
    try:
        return base64.b64decode(given, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError("It is not base64") from error


def _id(given: Any) -> UUID:
    if not isinstance(given, str) or not re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", given):
        raise ValueError("It must be an id: 32 hexadecimal digits with dashes")
    return UUID(given)


def _storable(text: str) -> str:
    if UNSTORABLE.search(text):
        raise ValueError("It holds a character that cannot be stored here")
    return text


def _tag(given: str) -> str:
    if not is_tag(given):
        raise ValueError(f"A tag has 1 to {MOST_CHARACTERS} printable characters, and no space around it")
    return given


def _headers(given: Any) -> Any:
    """Headers as attempts keep them. Their texts may hold what no other text may."""
    if isinstance(given, dict) and all(isinstance(text, str) for pair in given.items() for text in pair):
        return given
    raise ValueError("It must be an object of texts")


def _usage(given: Any) -> Any:
    """Numbers of tokens, or none; and whether the provider says that it did not reason."""
    if isinstance(given, dict) and all(value is None or _is_count(name, value) for name, value in given.items()):
        return given
    raise ValueError("It must be an object of whole numbers of at least 0")


def _is_count(name: str, value: Any) -> bool:
    return type(value) is bool if name == "no_reasoning" else type(value) is int and 0 <= value < 2**63


def _words(given: Any) -> Any:
    """An error as attempts keep it."""
    if isinstance(given, dict) and isinstance(given.get("message"), str) and isinstance(given.get("kind"), str):
        return given
    raise ValueError("It must be an object with kind and message")


Moment = Annotated[datetime, BeforeValidator(_moment)]
Raw = Annotated[bytes, BeforeValidator(_bytes)]
Id = Annotated[UUID, BeforeValidator(_id)]
Text = Annotated[str, AfterValidator(_storable)]
Word = Annotated[Text, Field(max_length=200)]
Count = Annotated[int, Field(ge=0, le=2**31 - 1)]
Number = Annotated[int, Field(ge=1, le=2**31 - 1)]
Line = Annotated[Text, Field(max_length=10_000)]  #: an address, or a header
Milliseconds = Annotated[int, Field(ge=0, le=366 * 24 * 3_600_000)]  #: no call takes longer than a year
Object = dict[Any, Any]
Headers = Annotated[Any, AfterValidator(_headers)]
Usage = Annotated[Any, AfterValidator(_usage)]
Error = Annotated[Any, AfterValidator(_words)]
Tag = Annotated[Text, Field(max_length=MOST_CHARACTERS), AfterValidator(_tag)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Shape(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Record(Shape):
    seq: Number
    at: Moment
    event: Object
    transitions: list[Transition]
    command: Command
    observed: list[Observation]
    core_version: Word


class Chunk(Shape):
    at: Moment
    text: Text
    raw: Raw


class Attempt(Shape):
    index: Number
    kind: Literal[tuple(kind.value for kind in AttemptKind)]  # type: ignore[valid-type]
    iteration: Count
    provider: Word
    model: Word
    max_tokens: Count | None
    request: Text
    request_sha256: Digest
    request_url: Line
    status_code: Annotated[int, Field(ge=0, le=999)] | None
    response_headers: Headers | None
    content_type: Line
    stop_reason: Word | None
    raw_stop_reason: Text | None
    usage: Usage | None
    text: Text
    tool_calls: list[Object]
    error: Error | None
    started_at: Moment
    first_token_ms: Milliseconds | None
    duration_ms: Milliseconds | None
    chunks: list[Chunk]

    @property
    def messages_sent(self) -> int:
        """How many of the turn's messages its request begins with; 0 of a request that names none."""
        try:
            body = json.loads(self.request)
        except (ValueError, RecursionError):
            return 0
        told = [body.get(key) for key in MESSAGE_KEYS] if isinstance(body, dict) else []
        counts = [one["history"] for one in told if isinstance(one, dict) and isinstance(one.get("history"), int)]
        return max(counts, default=0)


class Document(Shape):
    name: Text
    text: Text


class Turn(Shape):
    """All that happened: what `sha256` is taken of."""

    agent: Word
    provider: Literal[tuple(PROVIDERS)]  # type: ignore[valid-type]
    model: Word
    input_text: Text
    max_tokens: Count | None
    created_at: Moment
    policy: Object
    overrides: Object
    setup: Object
    breakpoints: list[Object]
    parent_id: Id | None
    forked_at: Number | None
    base_snapshot: Object | None
    gave_up: Text | None
    documents: Annotated[list[Document], Field(max_length=50)]
    messages: list[Text]
    records: list[Record]
    attempts: list[Attempt]


class Comment(Shape):
    transition: Count
    author: Word
    text: Annotated[Text, Field(min_length=1, max_length=MAX_CHARS)]
    created_at: Moment
    edited_at: Moment | None


class PolicyName(Shape):
    name: Word
    version: Count


class Notes(Shape):
    """What people added, and names that mean something only where the file was made."""

    policy: PolicyName | None
    tags: Annotated[list[Tag], Field(max_length=MOST_TAGS)]
    comments: Annotated[list[Comment], Field(max_length=1_000)]
    raw_removed_at: Moment | None = None


class FileOrigin(Shape):
    """Where the turn came from, as the installation says that exported it: that had imported it itself."""

    imported_at: Moment
    imported_by: Text
    exported_at: Moment
    original_id: Id
    signature: Word
    installation: Text
    public_key: Word
    doubt: Text


class FileSignature(Shape):
    """Of the installation that exported the file; `key` and `ed25519` in base64."""

    key: Word
    ed25519: Word


class TurnFile(Shape):
    format: str
    version: int
    id: Id
    exported_at: Moment
    core_version: Word
    sha256: Digest
    turn: Turn
    notes: Notes
    origin: FileOrigin | None = None
    signature: FileSignature | None = None
