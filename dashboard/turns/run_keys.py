"""Keys by which a call is known to go on from another call's answer.

A client sends the whole conversation with each call, and the answers in it in its own form: `content` null or empty,
fields left out, tool calls in another order, white space trimmed. So a key is made of what messages mean (`normal`),
each with the key of those before it: one key stands for a conversation up to there. It is keyed by project, as nodes
are. A call has the key of its conversation with its answer (`Turn.answered_key`), and the keys of its conversation up
to each of the last answers in it (`Turn.history_keys`). Where the one is among the others, the calls are of one run.
"""

import hashlib
import json
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from typing import Any
from uuid import UUID

from django.conf import settings
from pydantic_core import from_json

MOST_KEYS = 4  #: answers in a conversation that are looked for, from the last one back
MOST_KNOWN = 50_000  #: keys of messages that are kept, so that only new messages are read
_CANDIDATES = 16  #: latest calls with the same conversation and answer among which one is chosen

_ROLES: Mapping[str, str] = {"developer": "system", "function": "tool"}  #: two names of one role
_ANSWERS = frozenset({"assistant", "model"})  #: roles of those who answer
_PARTS = b'"parts"'
_TEXTS = ("text", "refusal")  #: fields of a part that hold words
#: Taken out of words at once: millions of words of a long text would be as many objects in memory.
_WHITE_SPACE = dict.fromkeys(code for code in range(0x3001) if chr(code).isspace())
_NO_MEANING = frozenset({"cache_control"})  #: fields of a part that say how it is handled

#: The call whose answer a call goes on from: that of the longest conversation; of several, the latest that nothing goes
#: on from yet. `{keys}` and `{turn}`: the later call's keys, longest first, and its id.
#:
#: Whether anything goes on from a call is asked for in an order that only the index has. Asked with EXISTS, the planner
#: reads all turns for it where many have one key, or go on from one call: so they do under load tests.
FOLLOWED = f"""
SELECT found.id, found.run_id FROM unnest({{keys}}) WITH ORDINALITY AS wanted (key, n)
 CROSS JOIN LATERAL (
    SELECT answer.id, coalesce(answer.run_id, answer.id) AS run_id,
           coalesce(answer.id = (SELECT other.follows FROM turns_turn other WHERE other.follows >= answer.id
                                  ORDER BY other.follows LIMIT 1), false) AS is_followed
      FROM turns_turn answer
     WHERE answer.answered_key = wanted.key AND answer.id < {{turn}}
     ORDER BY answer.answered_key, answer.id DESC LIMIT {_CANDIDATES}
 ) found
 ORDER BY wanted.n, found.is_followed, found.id DESC LIMIT 1
"""  # noqa: S608 - made of constants


@dataclass(frozen=True, slots=True)
class Conversation:
    """The key of a conversation, and of it up to each of its last answers, the longest first. `nameless`: its calls are
    told without ids that can be relied on, as the Gemini API does."""

    project_id: UUID
    key: bytes
    answers: tuple[UUID, ...]
    nameless: bool = False

    def answered(self, message: Mapping[str, Any]) -> UUID:
        """The key of it with this answer."""
        if self.nameless:
            message = {**message, "tool_calls": [{**call, "id": ""} for call in message.get("tool_calls") or ()]}
        return UUID(bytes=_grown(self.project_id, self.key, normal(message)))


class Keys:
    """Makes keys, and knows those of conversations that it saw lately by the nodes of their messages."""

    def __init__(self) -> None:
        self._known: OrderedDict[UUID, tuple[bytes, bool]] = OrderedDict()

    def of(self, project_id: UUID, messages: Sequence[bytes], nodes: Sequence[UUID] = ()) -> Conversation:
        """`messages`: as the client sent them, as JSON texts; `nodes`: their ids, where there are any."""
        begin = self._seen(nodes)
        key = self._known[nodes[begin - 1]][0] if begin else b""
        said: list[tuple[bytes, bool]] = []  #: of the messages from there on
        for n, message in enumerate(messages[begin:], start=begin):
            read = _read(message)
            key = _grown(project_id, key, normal(read))
            said.append((key, read.get("role") in _ANSWERS))
            if nodes:
                self._keep(nodes[n], said[-1])
        earlier = (self._known.get(node, (b"", False)) for node in reversed(nodes[:begin]))
        answers = (key for key, is_answer in chain(reversed(said), earlier) if is_answer)
        nameless = bool(messages) and _PARTS in messages[-1] and _is_content(_read(messages[-1]))
        return Conversation(project_id, key, tuple(UUID(bytes=each) for each in islice(answers, MOST_KEYS)), nameless)

    def _seen(self, nodes: Sequence[UUID]) -> int:
        """After how many messages the first one comes that is not known, and all after it are not."""
        begin = len(nodes)
        while begin and nodes[begin - 1] not in self._known:
            begin -= 1
        return begin

    def _keep(self, node: UUID, known: tuple[bytes, bool]) -> None:
        self._known[node] = known
        if len(self._known) > MOST_KNOWN:
            self._known.popitem(last=False)


def normal(message: Mapping[str, Any]) -> bytes:
    """What a message means: its role, its words without regard to white space, its calls in the order of their ids.

    Fields that say nothing to the model that answers next are left out, such as `reasoning_content` and `name`.
    """
    if "role" not in message and isinstance(message.get("type"), str):  # an item of the Responses API
        return json.dumps(message, separators=(",", ":"), sort_keys=True).encode()
    if _is_content(message):
        message = _in_chat_form(message)
    given = message.get("role")
    role = _ROLES.get(given, given) if isinstance(given, str) else None
    words, others = _content(message.get("content"))
    said: list[Any]
    if role == "assistant":
        said = [words or _content(message.get("refusal"))[0], _calls(message)]
    else:
        said = [words, others, message.get("tool_call_id") if role == "tool" else None]
    return json.dumps([role, *said], separators=(",", ":"), sort_keys=True).encode()


def _is_content(message: Mapping[str, Any]) -> bool:
    """Whether it is a content of the Gemini API."""
    return isinstance(message.get("parts"), list)


def _in_chat_form(content: Mapping[str, Any]) -> dict[str, Any]:
    """A content of the Gemini API as chat completions have it, its calls without ids."""
    parts = [part for part in content["parts"] if _is(part) and part.get("thought") is not True]
    if content.get("role") != "model":
        return {"role": "user", "content": parts}
    called = [call for part in parts if _is(call := part.get("functionCall") or part.get("function_call"))]
    functions = ({"name": call.get("name"), "arguments": json.dumps(call.get("args") or {})} for call in called)
    return {"role": "assistant", "content": parts, "tool_calls": [{"function": each} for each in functions]}


def _read(message: bytes) -> Mapping[str, Any]:
    try:
        read = from_json(message)
    except ValueError:
        read = None
    return read if isinstance(read, dict) else {"content": message.decode("utf-8", "replace")}


def _content(content: Any) -> tuple[str, list[Any]]:
    """The words, and the parts that are none, such as images."""
    if isinstance(content, str):
        return content.translate(_WHITE_SPACE), []
    words, others = "", list[Any]()
    for part in content if isinstance(content, list) else ():
        text = next((part[name] for name in _TEXTS if isinstance(part.get(name), str)), None) if _is(part) else None
        if text is not None:
            words += text.translate(_WHITE_SPACE)
        else:
            others.append({name: part[name] for name in part if name not in _NO_MEANING} if _is(part) else part)
    return words, others


def _is(part: Any) -> bool:
    return isinstance(part, dict)


def _calls(message: Mapping[str, Any]) -> list[list[str]]:
    """Id, name and arguments of each; a `function_call` has no id. Anthropic's clients send calls among the parts."""
    asked = message.get("tool_calls")
    entries = list(asked) if isinstance(asked, list) else []
    if not entries and (legacy := message.get("function_call")):
        entries = [{"function": legacy}]
    if not entries and isinstance(content := message.get("content"), list):
        entries = [_as_call(part) for part in content if _is(part) and part.get("type") == "tool_use"]
    return sorted(_call(entry) for entry in entries if isinstance(entry, dict))


def _as_call(part: Mapping[str, Any]) -> dict[str, Any]:
    """A `tool_use` block in the form of chat completions."""
    return {"id": part.get("id"), "function": {"name": part.get("name"), "arguments": json.dumps(part.get("input"))}}


def _call(entry: Mapping[str, Any]) -> list[str]:
    body = entry.get("function") or entry.get("custom") or {}
    given = body.get("arguments", body.get("input")) if isinstance(body, dict) else None
    name = body.get("name") if isinstance(body, dict) else None
    return [str(entry.get("id") or ""), str(name or ""), _arguments(given if isinstance(given, str) else "")]


def _arguments(text: str) -> str:
    """The same text for the same arguments, however they are written."""
    try:
        value = from_json(text or "{}")
    except ValueError:
        return text.translate(_WHITE_SPACE)
    return json.dumps(value, separators=(",", ":"), sort_keys=True)


def _grown(project_id: UUID, before: bytes, said: bytes) -> bytes:
    made = hashlib.blake2b(before, digest_size=16, key=_key(settings.SECRET_KEY, project_id))
    made.update(said)  # which may be large, so the two are not put together
    return made.digest()


@lru_cache(maxsize=64)
def _key(secret: str, project_id: UUID) -> bytes:
    given = hashlib.sha512(secret.encode()).digest()
    return hashlib.blake2b(project_id.bytes, key=given, person=b"whystop run", digest_size=32).digest()


def answer_of(text: str | None, calls: Iterable[Mapping[str, Any]], refusal: str | None = None) -> dict[str, Any]:
    """An answer as the message that a client would send back."""
    return {"role": "assistant", "content": text, "refusal": refusal, "tool_calls": list(calls)}
