"""Tool calls that open models write as text: where one begins, and whether it is incomplete.

A server that does not support a model's format passes such a call on as text. If it is truncated, it is a truncated
tool call, not an answer.
"""

import re
from collections.abc import Collection
from itertools import product

from agentcore.incomplete_text import json_at

#: The start and end markers of such calls; None: the call ends with the answer.
FORMS: tuple[tuple[str, str | None], ...] = (
    ("<tool_call>", "</tool_call>"),
    ("<tool_calls>", "</tool_calls>"),
    ("<function=", "</function>"),
    ("<function_call>", "</function_call>"),
    ("<|tool_call|>", None),
    ("<|python_tag|>", None),
    ("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"),
    ("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"),
    ("[TOOL_CALLS]", None),
)
#: Further formats, recognized since revision 3 of the rules.
LATER_FORMS: tuple[tuple[str, str | None], ...] = (
    ("<function_calls>", "</function_calls>"),
    ("<invoke name=", "</invoke>"),
    ("<minimax:tool_call>", "</minimax:tool_call>"),
    ("<|channel|>commentary to=", "<|call|>"),
    ("<|start|>assistant to=", "<|call|>"),
    ("```tool_code", "```"),
    ("```tool_call", "```"),
)
_ALL = FORMS + LATER_FORMS
_CLOSERS = dict(_ALL)
_NAME = re.compile(
    r"""<function=([\w.:-]+)|"(?:name|function)"\s*:\s*"([\w.:-]+)"|\[TOOL_CALLS\]\s*([\w.:-]+)"""
    r"""|<invoke name=["']([\w.:-]+)["']|\bto=(?:functions\.)?([\w.:-]+)\s"""
)
#: A call written as bare JSON, as Llama's models do: what stands before the tool's name and after it, without blanks.
_BARE_HEADS = (
    '{"name":"',
    '{"function":{"name":"',
    '{"type":"function","name":"',
    '{"type":"function","function":{"name":"',
)
_BARE_KEYS = ('","parameters"', '","arguments"')
_BARE_CHARS = 500  #: of a text that are looked at for its beginning
_LONGEST = max(len(opener) for opener, _ in _ALL)
_TOLD = 6  #: characters of a form's beginning by which one is known that was cut itself
_BEGINNINGS = tuple(opener[:length] for opener, _ in _ALL if " " not in opener for length in range(_TOLD, len(opener)))


def _any_of(forms: tuple[tuple[str, str | None], ...]) -> re.Pattern[str]:
    return re.compile("|".join(re.escape(opener) for opener, _ in forms))


_OPENERS, _ALL_OPENERS = _any_of(FORMS), _any_of(_ALL)


def left_open(text: str, *, later: bool = True) -> int | None:
    """The position of an unclosed tool call markup at the end of the text; None if there is none.

    `later`: use the rules of revision 3, which recognize more formats, and a truncated start marker.
    """
    position, openers = 0, _ALL_OPENERS if later else _OPENERS
    while (opener := openers.search(text, position)) is not None:
        closer = _CLOSERS[opener.group()]
        end = -1 if closer is None else text.find(closer, opener.end())
        if end < 0:
            return opener.start()
        position = end + len(closer or "")
    return _begun(text[position:], position) if later else None


def _begun(text: str, position: int) -> int | None:
    """Where the beginning of a form stands that the text ends inside of. One with words in it may become other markup
    of the same model."""
    if not text.endswith(_BEGINNINGS):
        return None
    return position + len(text) - max(len(beginning) for beginning in _BEGINNINGS if text.endswith(beginning))


def is_cut_bare_call(text: str, tools: Collection[str]) -> bool:
    """Whether a truncated text is, from its first character, a call of one of these tools written as bare JSON.

    An object with other content, such as a description of the tool, is text; so is a complete object.
    """
    said = _beginning(text)
    if not said.startswith(_BARE_HEADS):
        return False  # nearly every text
    begun = any(
        said.startswith(head + name + key) or (len(said) > len(head) and (head + name + key).startswith(said))
        for head, name, key in product(_BARE_HEADS, tools, _BARE_KEYS)
    )
    return begun and json_at(text) is not None


def may_be_bare_call(text: str, tools: Collection[str]) -> bool:
    """Whether a text that is still being streamed may turn out to be such a call."""
    said = _beginning(text)
    whole = (head + name + key for head, name, key in product(_BARE_HEADS, tools, _BARE_KEYS))
    return any(one.startswith(said) or said.startswith(one) for one in whole)


def _beginning(text: str) -> str:
    return "".join(text.lstrip()[:_BARE_CHARS].split())


def name_in(markup: str) -> str:
    """The tool named in the markup of a call; empty if its name was truncated too."""
    found = _NAME.search(markup)
    return next(filter(None, found.groups()), "") if found else ""


def settled(text: str) -> int:
    """The length of the part of a streamed text that cannot be markup of a tool call."""
    found = _ALL_OPENERS.search(text)
    if found is not None:
        return found.start()
    for length in range(min(len(text), _LONGEST - 1), 0, -1):
        if any(opener.startswith(text[-length:]) for opener, _ in _ALL):
            return len(text) - length
    return len(text)
