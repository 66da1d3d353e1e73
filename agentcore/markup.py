"""Tool calls that open models write into their text: where one begins, and whether it was left half written.

A server that does not know a model's form hands such a call on as text. Cut short, it is no answer: it is a tool call
that was cut.
"""

import re

#: How such a call begins, and how it ends; None: nothing ends it but the answer.
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
_OPENERS = re.compile("|".join(re.escape(opener) for opener, _ in FORMS))
_CLOSERS = dict(FORMS)
_NAME = re.compile(r"""<function=([\w.:-]+)|"(?:name|function)"\s*:\s*"([\w.:-]+)"|\[TOOL_CALLS\]\s*([\w.:-]+)""")
_LONGEST = max(len(opener) for opener, _ in FORMS)


def left_open(text: str) -> int | None:
    """Where the markup of a tool call begins that the text ends inside of; None where there is none."""
    position = 0
    while (opener := _OPENERS.search(text, position)) is not None:
        closer = _CLOSERS[opener.group()]
        end = -1 if closer is None else text.find(closer, opener.end())
        if end < 0:
            return opener.start()
        position = end + len(closer or "")
    return None


def name_in(markup: str) -> str:
    """The tool that the markup of a call names; empty where its name was cut too."""
    found = _NAME.search(markup)
    return next(filter(None, found.groups()), "") if found else ""


def settled(text: str) -> int:
    """How much of a text that is still coming in can be no markup of a tool call."""
    found = _OPENERS.search(text)
    if found is not None:
        return found.start()
    for length in range(min(len(text), _LONGEST - 1), 0, -1):
        if any(opener.startswith(text[-length:]) for opener, _ in FORMS):
            return len(text) - length
    return len(text)
