"""Conversations as a tree of messages, each stored once.

A node is one message in each form in which it was said: as the client sent it, and as the provider was sent it. Its id
is a keyed hash of its parent's id and of these forms, so one id stands for a whole conversation, and conversations that
begin alike share their nodes. The key is the project's: no id tells one project what another one said.

What stands once and has no place among messages, such as the rest of a request, is a node without a parent; or, of a
turn's shared values (`shared_values`), one after the turn's others.
"""

import hashlib
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from uuid import UUID

from django.conf import settings

from agentcore.values import quickly_made
from dashboard.platform.replica import read_connection
from dashboard.turns.compression import packed, unpacked
from dashboard.turns.read_ahead import once, read_ahead

_PART = struct.Struct("!cI")  #: form, length in bytes

_READ = """
WITH RECURSIVE chain (id, parent_id, packed, n) AS (
    SELECT id, parent_id, packed, 0 FROM turns_node WHERE id = %s
    UNION ALL
    SELECT node.id, node.parent_id, node.packed, n + 1 FROM chain JOIN turns_node node ON node.id = chain.parent_id
)
SELECT id, packed FROM chain ORDER BY n DESC
"""

_READ_ALL = """
WITH RECURSIVE chain (id) AS (
    SELECT unnest(%s::uuid[])
    UNION
    SELECT node.parent_id FROM chain JOIN turns_node node USING (id) WHERE node.parent_id IS NOT NULL
)
SELECT id, parent_id, packed FROM chain JOIN turns_node USING (id)
"""
_SIZES = _READ_ALL.replace("SELECT id, parent_id, packed FROM", "SELECT id, parent_id, octet_length(packed) FROM")
_AT_ONCE = 4_000_000  #: bytes of contents that are fetched together


class NodeForm(StrEnum):
    """Whose words a node holds."""

    CLIENT = "c"  #: an element of a client's list of messages, byte for byte
    WIRE = "w"  #: a message as the provider was sent it, as JSON text
    MESSAGE = "m"  #: a message as the core has it, as JSON text
    FRAME = "f"  #: a client's request without its messages (`request_frames`)
    VALUE = "v"  #: the large values of an object, or a turn's setup, as JSON text (`shared_values`)


Forms = Mapping[NodeForm, Sequence[bytes]]


@quickly_made
@dataclass(frozen=True, slots=True)
class NewNode:
    """A node that may have to be stored."""

    id: UUID
    parent: UUID | None
    content: bytes  #: its forms, not compressed

    @property
    def packed(self) -> bytes:
        """Its content as it is stored."""
        return packed(self.content)


def grown(project_id: UUID, parent: UUID | None, forms: Forms) -> list[NewNode]:
    """The nodes that follow `parent`, oldest first. Lists of unequal length end together: a form that lacks the first
    messages, as one without the system prompt does, shares the nodes of the last ones."""
    key, nodes = _key(settings.SECRET_KEY, project_id), list[NewNode]()
    length = max(map(len, forms.values()), default=0)
    lists = [(form.encode(), items, length - len(items)) for form, items in forms.items()]
    for place in range(length):
        parts = [(form, items[place - late]) for form, items, late in lists if place >= late]
        content = b"".join(part for form, item in parts for part in (_PART.pack(form, len(item)), item))
        digest = hashlib.blake2b((parent.bytes if parent else b"") + content, digest_size=16, key=key).digest()
        nodes.append(node := NewNode(UUID(bytes=digest), parent, content))
        parent = node.id
    return nodes


def read(head: UUID | None) -> list[dict[NodeForm, bytes]]:
    """The nodes of a conversation, oldest first, each with its forms. Empty for None."""
    return list(read_with_ids(head).values())


def read_with_ids(head: UUID | None) -> dict[UUID, dict[NodeForm, bytes]]:
    """The nodes read, by their ids."""
    if head is None:
        return {}
    with read_connection().cursor() as cursor:
        cursor.execute(_READ, [head])
        return {node_id: dict(parts(unpacked(packed))) for node_id, packed in cursor.fetchall()}


def read_all(heads: Iterable[UUID]) -> dict[UUID, tuple[UUID | None, dict[NodeForm, bytes]]]:
    """All nodes of these conversations by their ids, each once, with the one before it. Those of others may be among
    them."""
    heads, known = list(heads), read_ahead().nodes
    if known and all(head in known for head in heads):
        return known
    return once(("nodes", *sorted(heads)), lambda: _read_all(heads))


def _read_all(heads: list[UUID]) -> dict[UUID, tuple[UUID | None, dict[NodeForm, bytes]]]:
    with read_connection().cursor() as cursor:
        cursor.execute(_READ_ALL, [heads])
        return {node_id: (parent, dict(parts(unpacked(packed)))) for node_id, parent, packed in cursor.fetchall()}


def stored_nodes(heads: Sequence[UUID]) -> Iterator[tuple[UUID, UUID | None, bytes]]:
    """All nodes of these conversations, each once: its id, the one before it, and its content as it is stored. So many
    bytes are in memory at once."""
    if not heads:
        return
    with read_connection().cursor() as cursor:
        cursor.execute(_SIZES, [list(heads)])
        parents, some, size = dict[UUID, UUID | None](), list[UUID](), 0
        for node_id, parent, length in cursor.fetchall():
            parents[node_id] = parent
            if some and size + length > _AT_ONCE:
                yield from ((each, parents[each], content) for each, content in _contents(some))
                some, size = [], 0
            some.append(node_id)
            size += length
        yield from ((each, parents[each], content) for each, content in _contents(some))


def _contents(node_ids: Sequence[UUID]) -> list[tuple[UUID, bytes]]:
    with read_connection().cursor() as cursor:
        cursor.execute("SELECT id, packed FROM turns_node WHERE id = ANY(%s)", [list(node_ids)])
        return [(node_id, bytes(content)) for node_id, content in cursor.fetchall()]


def read_one(node_id: UUID) -> dict[NodeForm, bytes]:
    """One node, whatever stands before it. Raises `LookupError` where there is none."""
    if node_id in read_ahead().nodes:
        return dict(read_ahead().nodes[node_id][1])
    with read_connection().cursor() as cursor:
        cursor.execute("SELECT packed FROM turns_node WHERE id = %s", [node_id])
        found = cursor.fetchone()
    if found is None:
        raise LookupError(f"Node {node_id} is not stored.")
    return dict(parts(unpacked(found[0])))


def said(nodes: Iterable[Mapping[NodeForm, bytes]], form: NodeForm) -> list[bytes]:
    """The messages that have this form, in order."""
    return [node[form] for node in nodes if form in node]


def parts(content: bytes) -> Iterator[tuple[NodeForm, bytes]]:
    """The forms of a content. Raises `ValueError` where it is none."""
    at = 0
    while at < len(content):
        try:
            form, length = _PART.unpack_from(content, at)
        except struct.error as error:
            raise ValueError("Stored bytes are cut off.") from error
        at += _PART.size + length
        if at > len(content):
            raise ValueError("Stored bytes are cut off.")
        yield NodeForm(form.decode()), content[at - length : at]


@lru_cache(maxsize=64)
def _key(secret: str, project_id: UUID) -> bytes:
    return hashlib.blake2b(project_id.bytes, key=hashlib.sha512(secret.encode()).digest(), digest_size=32).digest()
