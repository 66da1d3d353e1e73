"""Merges what several spans say about one call."""

from collections.abc import Iterable
from typing import Any

from agentcore.messages import Message
from agentcore.values import replace
from dashboard.ingest.conventions.observations import NOTHING, AskedCall, Content, StopReasonSighting


def merged(accounts: Iterable[Content]) -> Content:
    """Each fact from the first account that tells it; of the calls, the account that tells most."""
    told = [account for account in accounts if account is not NOTHING]
    if len(told) == 1:  # as of most spans: a fact that is empty is one that is not told
        (only,) = told
        return replace(only, system=only.system or None, refusal=only.refusal or None, words=unique(only.words))
    texts = [account.text for account in told if account.text is not None]
    return Content(
        system=_first(account.system for account in told),
        input=_first_input(account.input for account in told),
        tools=next((account.tools for account in told if account.tools), ()),
        text=next(filter(None, texts), texts[0] if texts else None),
        calls=_calls([account.calls for account in told if account.calls is not None]),
        reasoning=next((account.reasoning for account in told if account.reasoning), ""),
        refusal=_first(account.refusal for account in told),
        words=unique(word for account in told for word in account.words),
        response_id=_first(account.response_id for account in told) or "",
    )


def unique(words: Iterable[StopReasonSighting]) -> tuple[StopReasonSighting, ...]:
    """Each once, in order."""
    return tuple(dict.fromkeys(words))


def _first(values: Iterable[Any]) -> Any:
    return next((value for value in values if value), None)


def _first_input(values: Iterable[tuple[Message, ...] | None]) -> tuple[Message, ...] | None:
    told = [value for value in values if value is not None]
    return max(told, key=len) if told else None


def _calls(accounts: list[tuple[AskedCall, ...]]) -> tuple[AskedCall, ...] | None:
    if not accounts:
        return None
    return max(accounts, key=_told)


def _told(calls: tuple[AskedCall, ...]) -> tuple[int, bool, bool, int]:
    """How much is told of calls: the text as it came, also where it was cut, is more than an object made of it."""
    texts = [call.raw for call in calls]
    is_own = not any(call.is_object for call in calls)
    return len(calls), any(text not in {"", "{}"} for text in texts), is_own, sum(map(len, texts))
