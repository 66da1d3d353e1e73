"""What each recorded export becomes: one line for each turn, as the map beside the exports says."""

from collections.abc import Mapping
from typing import NamedTuple


class Becomes(NamedTuple):
    """One turn. `word`: the stop reason as it is told, best of several; `calls`: tool calls of its last answer, broken
    ones marked with `!`; `notes`: codes, without those that each export of its instrumentation has."""

    status: str
    reason: str | None
    word: str | None
    attempts: int = 1
    calls: tuple[str, ...] = ()
    tokens: tuple[int, int] | None = None
    notes: tuple[str, ...] = ()


W, CUT = "get_weather", "get_weather!"
AGENT = ("completed", "end_turn")
TOOL = ("completed", "tool_call")
TRUNC = ("partial", "max_tokens")
BLOCKED = ("aborted", "safety_blocked")
FAILED = Becomes("failed", None, None)
OK = ("completed", "end_turn")
UNKNOWN = ("completed", "unknown")

_OPENLLMETRY_ANTHROPIC = {
    "agent": [Becomes(*AGENT, "end_turn", 2, (), (27, 24), ("reason_renamed",))],
    "cuttool": [Becomes(*TRUNC, "max_tokens", 1, (CUT,), (9, 30), ("cut_arguments_lost", "reason_renamed"))],
    "cuttool-stream": [Becomes(*TRUNC, "max_tokens", 1, (CUT,), (9, 30), ("reason_renamed",))],
    "error429": [FAILED],
    "error500": [FAILED],
    "filter": [Becomes(*BLOCKED, "refusal", 1, (), (9, 21), ("answer_unknown",))],
    "ok": [Becomes(*OK, "end_turn", 1, (), (9, 351), ("reason_renamed",))],
    "tool": [Becomes(*TOOL, "tool_use", 1, (W,), (9, 11), ("reason_renamed",))],
    "tool-stream": [Becomes(*TOOL, "tool_use", 1, (W,), (9, 11), ("reason_renamed",))],
    "trunc": [Becomes(*TRUNC, "max_tokens", 1, (), (9, 60), ("reason_renamed",))],
    "trunc-stream": [Becomes(*TRUNC, "max_tokens", 1, (), (9, 60), ("reason_renamed",))],
}
_OPENLLMETRY_LANGCHAIN = {
    "agent": [Becomes(*AGENT, "stop", 2, (), (29, 26))],
    "cuttool": [Becomes(*TRUNC, "length", 1, (), (9, 30), ("cut_call_lost",))],
    "cuttool-stream": [Becomes(*TRUNC, "length", 1, (W,), (9, 30), ("cut_arguments_lost",))],
    "error429": [FAILED],
    "filter": [Becomes(*BLOCKED, "content_filter", 1, (), (9, 21))],
    "ok": [Becomes(*OK, "stop", 1, (), (9, 351))],
    "real-cuttool": [Becomes(*TRUNC, "length", 1, (), (573, 70), ("cut_call_lost",))],
    "real-markup-cut": [Becomes(*TRUNC, "length", 1, (), (573, 12))],
    "real-twocalls-cut": [Becomes(*TRUNC, "length", 1, (W, W, CUT), (573, 200), ("cut_arguments_lost",))],
    "tool": [Becomes(*TOOL, "tool_call", 1, (W,), (9, 11))],
    "trunc": [Becomes(*TRUNC, "length", 1, (), (9, 60))],
    "trunc-stream": [Becomes(*TRUNC, "length", 1, (), (9, 60))],
}
_OPENINFERENCE = {
    "agent": [Becomes(*AGENT, "stop", 2, (), (33, 24))],
    "cuttool": [Becomes(*TRUNC, "length", 1, (CUT,), (9, 30))],
    "cuttool-stream": [Becomes(*TRUNC, "length", 1, (CUT,), (9, 30))],
    "error429": [FAILED],
    "error500": [FAILED],
    "filter": [Becomes(*BLOCKED, "content_filter", 1, (), (9, 21))],
    "gateway": [Becomes(*OK, "stop", 1, (), (567, 362))],
    "hangup-stream": [Becomes("partial", "unknown", None)],
    "ok": [Becomes(*OK, "stop", 1, (), (9, 351))],
    "real-cuttool": [Becomes(*TRUNC, "length", 1, (CUT,), (573, 70))],
    "real-markup-cut": [Becomes(*TRUNC, "length", 1, (), (573, 12))],
    "real-trunc-stream": [Becomes(*TRUNC, "length", 1, (), (44, 30))],
    "real-twocalls-cut": [Becomes(*TRUNC, "length", 1, (W, W, CUT), (573, 200))],
    "responses-cuttool": [Becomes(*TRUNC, "max_output_tokens", 1, (CUT,), (9, 30))],
    "responses-tool": [Becomes(*TOOL, "completed", 1, (W,), (9, 11))],
    "responses-trunc": [Becomes(*TRUNC, "max_output_tokens", 1, (), (9, 60))],
    "responses-trunc-stream": [
        Becomes(*UNKNOWN, None, 1, (), None, ("answer_unknown", "reason_unknown", "usage_unknown"))
    ],
    "tool": [Becomes(*TOOL, "tool_calls", 1, (W,), (9, 11))],
    "tool-stream": [Becomes(*TOOL, "tool_calls", 1, (W,), (9, 11))],
    "trunc": [Becomes(*TRUNC, "length", 1, (), (9, 60))],
    "trunc-stream": [Becomes(*TRUNC, "length", 1, (), (9, 60))],
}
#: Without content: what was asked and answered is unknown in all of them, in streams the reason too.
_U = ("answer_unknown", "input_unknown")
_R = (*_U, "reason_unknown")
_C = ("answer_unknown", "calls_unknown", "input_unknown")
_NAMELESS = ("not_in_the_trace",)
_V2 = {
    "agent": [Becomes(*AGENT, "stop", 2, (), (33, 24), _C)],
    "cuttool": [Becomes(*TRUNC, "length", 1, (), (9, 30), _U)],
    "cuttool-stream": [Becomes(*UNKNOWN, None, 1, (), (9, 30), _R)],
    "error429": [FAILED._replace(notes=("input_unknown",))],
    "error500": [FAILED._replace(notes=("input_unknown",))],
    "filter": [Becomes(*BLOCKED, "content_filter", 1, (), (9, 21), _U)],
    "gateway": [Becomes(*OK, "stop", 1, (), (567, 362), _U)],
    "hangup-stream": [FAILED._replace(notes=("input_unknown",))],
    "ok": [Becomes(*OK, "stop", 1, (), (9, 351), _U)],
    "real-cuttool": [Becomes(*TRUNC, "length", 1, (), (573, 70), _U)],
    "real-markup-cut": [Becomes(*TRUNC, "length", 1, (), (573, 12), _U)],
    "real-trunc-stream": [Becomes(*UNKNOWN, None, 1, (), (44, 30), _R)],
    "real-twocalls-cut": [Becomes(*UNKNOWN, None, 1, (), (573, 200), _R)],
    "tool": [Becomes(*TOOL, "tool_calls", 1, _NAMELESS, (9, 11), _C)],
    "tool-stream": [Becomes(*UNKNOWN, None, 1, (), (9, 11), _R)],
    "trunc": [Becomes(*TRUNC, "length", 1, (), (9, 60), _U)],
    "trunc-stream": [Becomes(*UNKNOWN, None, 1, (), (9, 60), _R)],
}
_EVENTS = {
    "agent": [Becomes(*AGENT, "stop", 2, (), (33, 24))],
    "cuttool-stream": [Becomes(*TRUNC, "length", 1, (CUT,), (9, 30))],
    "tool": [Becomes(*TOOL, "tool_calls", 1, (W,), (9, 11))],
    "trunc": [Becomes(*TRUNC, "length", 1, (), (9, 60))],
}
#: A broken call is asked for again with as many tokens: not by rules of ours, so those are turns of their own.
_LOGFIRE = {
    "agent": [Becomes(*AGENT, "stop", 2, (), (33, 24))],
    "cuttool": [Becomes(*TRUNC, "length", 1, (CUT,), (9, 30)), Becomes(*TRUNC, "length", 1, (), (146, 30))],
    "cuttool-stream": [Becomes(*TRUNC, "length", 1, (CUT,), (9, 30)), Becomes(*TRUNC, "length", 1, (), (146, 30))],
    "error429": [FAILED._replace(notes=("input_unknown",))],
    "filter": [Becomes(*BLOCKED, "content_filter", 1, (), (9, 21))],
    "ok": [Becomes(*OK, "stop", 1, (), (9, 351))],
    "real-cuttool": [Becomes(*TRUNC, "length", 1, (CUT,), (488, 40)), Becomes(*TRUNC, "length", 1, (), (716, 40))],
    "tool": [Becomes(*AGENT, "stop", 2, (), (33, 24))],
    "trunc": [Becomes(*TRUNC, "length", 1, (), (9, 60))],
    "trunc-stream": [Becomes(*TRUNC, "length", 1, (), (9, 60))],
}
_HYPHEN = ("reason_renamed",)
_VERCEL = {
    "agent": [Becomes(*AGENT, "stop", 2, (), (33, 24), _HYPHEN)],
    "agent-stream": [Becomes(*AGENT, "stop", 2, (), (33, 24), _HYPHEN)],
    "cuttool": [Becomes(*TRUNC, "length", 1, (CUT,), (9, 30))],
    "cuttool-stream": [Becomes(*TRUNC, "length", 1, (CUT,), (9, 30))],
    "error429": [FAILED],
    "filter": [Becomes(*BLOCKED, "content-filter", 1, (), (9, 21), ("answer_unknown", "reason_renamed"))],
    "ok": [Becomes(*OK, "stop", 1, (), (9, 351))],
    "real-cuttool": [Becomes(*TRUNC, "length", 1, (CUT,), (536, 40))],
    "real-trunc-stream": [Becomes(*TRUNC, "length", 1, (), (44, 30))],
    "tool": [Becomes(*TOOL, "tool-calls", 1, (W,), (9, 11), _HYPHEN)],
    "trunc": [Becomes(*TRUNC, "length", 1, (), (9, 60))],
    "trunc-stream": [Becomes(*TRUNC, "length", 1, (), (9, 60))],
}
BECOMES: Mapping[str, list[Becomes]] = {
    f"{instrumentation}-{case}": turns
    for instrumentation, cases in {
        "openllmetry-anthropic": _OPENLLMETRY_ANTHROPIC,
        "openllmetry-langchain": _OPENLLMETRY_LANGCHAIN,
        "openinference-openai": _OPENINFERENCE,
        "otel-openai-v2": _V2,
        "otel-openai-v2@events": _EVENTS,
        "logfire-pydanticai": _LOGFIRE,
        "vercel-ai-sdk": _VERCEL,
    }.items()
    for case, turns in cases.items()
}
