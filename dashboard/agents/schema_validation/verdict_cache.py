"""What judges have found, by the hash of what they were asked: the same is not asked twice, and what was too much for
them costs once."""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from dashboard.agents.schema_validation.judge_processes import Question

MOST_KEPT = 2_048  #: answers
_LONG = 4_000  #: characters of an answer that is not kept

#: In place of an answer: it was too much.
SPENT: Mapping[str, Any] = {"spent": True}


class VerdictMemory:
    """Of this process."""

    def __init__(self) -> None:
        self._kept: OrderedDict[bytes, Mapping[str, Any]] = OrderedDict()
        self._lock = threading.Lock()

    def recalled(self, key: bytes) -> Mapping[str, Any] | None:
        with self._lock:
            if (kept := self._kept.get(key)) is not None:
                self._kept.move_to_end(key)
            return kept

    def keep(self, key: bytes, answer: Mapping[str, Any]) -> None:
        if sum(map(len, _texts(answer))) > _LONG:
            return
        with self._lock:
            self._kept[key] = answer
            if len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()


def key_of(question: Question) -> bytes:
    """What tells questions apart."""
    digest = blake2b(question.asked, digest_size=16)
    digest.update(len(question.schema).to_bytes(8))
    digest.update(question.schema)
    digest.update(question.value)
    return digest.digest()


def _texts(answer: Mapping[str, Any]) -> list[str]:
    if "found" in answer:
        return [text for violation in answer["found"] for text in violation]
    return [str(held) for held in answer.values()]
