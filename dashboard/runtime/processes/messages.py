"""What a process and its supervisor say to each other. Both are ours and the socket is theirs alone, so values are
pickled, each behind its length."""

from __future__ import annotations

import asyncio
import pickle
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from agentcore.messages import TokenUsage
from dashboard.gateway.access.key_meter import PricedModel
from dashboard.gateway.access.limits import KeyLimits
from dashboard.gateway.access.refusals import Refusal

_LENGTH = struct.Struct("!I")


@dataclass(frozen=True, slots=True)
class Ready:
    """The process serves."""


@dataclass(frozen=True, slots=True)
class Connections:
    """What became of its connections since it last said so."""

    taken: int  #: of those handed to it, in their order
    changes: Mapping[str | None, int]  #: more or fewer open, by the address they are counted by


@dataclass(frozen=True, slots=True)
class Listening:
    """From a process: whether it has pages that wait for news of a group. To a process: whether another one has."""

    group: str
    listens: bool


@dataclass(frozen=True, slots=True)
class News:
    """A message of the channel layer to a group; it carries ids alone."""

    group: str
    message: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class MayCall:
    """Whether one more call of this key may begin; it counts if so."""

    question: int
    key_id: UUID
    limits: KeyLimits


@dataclass(frozen=True, slots=True)
class Answer:
    """To `MayCall`. None: it may."""

    question: int
    refusal: Refusal | None


@dataclass(frozen=True, slots=True)
class Used:
    """What a call of a key has used."""

    key_id: UUID
    used: TokenUsage
    asked: PricedModel


Message = Ready | Connections | Listening | News | MayCall | Answer | Used


def packed(message: Message) -> bytes:
    """As it is sent."""
    content = pickle.dumps(message)
    return _LENGTH.pack(len(content)) + content


async def read(reader: asyncio.StreamReader) -> Message | None:
    """The next message; None: the other side is gone."""
    try:
        (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
        content = await reader.readexactly(length)
    except (asyncio.IncompleteReadError, OSError):
        return None
    message: Message = pickle.loads(content)  # noqa: S301 - from a process of ours, over a socket that is its alone
    return message
