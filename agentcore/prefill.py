"""Whether a connection's model continues a final assistant message in place, so that nothing is repeated at a seam.

Most servers treat such a message like any other message of the chat. Whether a connection continues it is one of its
settings, which a connection test determines. This module lists the dialects and models that can use it.
"""

import re
from collections.abc import Mapping
from typing import Any

#: The settings of a connection (`Setup.extra`) that enable prefill, each under the name its server uses.
SETTINGS = ("prefill", "prefix", "continue_final_message")
_SETTINGS = frozenset(SETTINGS)
#: The setting of a server that repeats the prefilled text in its answer.
ECHO = "prefill_echo"
#: Dialects that have no way to go on with an assistant message.
_NEVER = frozenset({"openai_responses", "cohere"})
#: Dialects whose prefill must not end in whitespace: Claude's.
TRIMMING = frozenset({"anthropic", "bedrock"})
# Claude's family and version in its names, also on Bedrock; older names have the version first, later ones a date.
_CLAUDE = re.compile(r"claude-(?:(?:opus|sonnet|haiku)-(\d{1,2})(?!\d)(?:-(\d{1,2})(?!\d))?|(fable|mythos))")
_LAST_TO_PREFILL = (4, 5)


def prefills(extra: Mapping[str, Any]) -> bool:
    """Whether this connection's model continues a last assistant message."""
    return not _SETTINGS.isdisjoint(extra) and any(extra.get(key) for key in SETTINGS)


def goes_on_exactly(provider: str, model: str, extra: Mapping[str, Any]) -> bool:
    """Whether a continuation with this dialect, model and connection continues the text itself, without repeats."""
    if not prefills(extra) or provider in _NEVER:
        return False
    return provider not in TRIMMING or not refuses_prefill(model, extra)


def refuses_prefill(model: str, extra: Mapping[str, Any]) -> bool:
    """Whether this Claude model rejects a prefill: a newer one, or one with reasoning enabled (providers.md §1.6)."""
    fields = extra.get("additionalModelRequestFields")
    thinking = extra.get("thinking") or (fields.get("thinking") if isinstance(fields, Mapping) else None)
    if isinstance(thinking, Mapping) and thinking.get("type") in ("enabled", "adaptive"):
        return True
    named = _CLAUDE.search(model.lower())
    if named is None:
        return False
    return bool(named[3]) or (int(named[1]), int(named[2] or 0)) > _LAST_TO_PREFILL
