"""A turn told in lines, as it happens: THINK, ACT, OBSERVE (spec: agent-loop-stop-reason)."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TextIO

PREVIEW_CHARS = 200
NATURAL_END = "end_turn"  #: the trigger of a turn that the model ended
#: What a model says must not steer the terminal it is shown in.
UNPRINTABLE = dict.fromkeys([*range(0x20), *range(0x7F, 0xA0)], "\ufffd") | {ord(kept): kept for kept in "\t\n"}
Json = Mapping[str, Any]


@dataclass(slots=True)
class TurnNarration:
    """A turn told to a terminal: the text as it streams, and a line for each thing that happens."""

    out: TextIO
    in_text: bool = False

    def said(self, text: str) -> None:
        """More of the answer."""
        self.out.write(text.translate(UNPRINTABLE))
        self.out.flush()
        self.in_text = self.in_text if not text else not text.endswith("\n")

    def told(self, record: Json) -> None:
        """A record, as JSON."""
        for line in lines_of(record):
            self.line(line)

    def over(self, turn: Json) -> None:
        """The turn, as the API shows it."""
        for late in turn.get("not_done", ()):
            self.line(f"[NOT DONE] {late['by']}: {late['action']}. {late['why']}")
        if turn["notice"]:
            self.line(f"[NOTICE] {turn['notice']}")
        self.line(turn["verdict"] or f"The turn is {turn['status']}.")
        self.limit(turn.get("suggestion"))

    def limit(self, suggestion: Json | None) -> None:
        """The limit that would have let the turn finish, as the API shows it."""
        if suggestion is not None:
            is_known = suggestion["certainty"] != "undecidable"  # else the sentence begins with that
            word = f"{suggestion['certainty_word'].capitalize()}. " if is_known else ""
            self.line(f"[LIMIT] {word}{suggestion['words']}")

    def why(self, lines: Iterable[str]) -> None:
        """What the verdict rests on, as a tree."""
        for place, line in enumerate(lines):
            self.line(f"[WHY] {line}" if place == 0 else line)

    def line(self, line: str) -> None:
        self.out.write(("\n" if self.in_text else "") + line.translate(UNPRINTABLE) + "\n")
        self.out.flush()
        self.in_text = False


def limit_shown(suggestion: Json | None) -> str:
    """`max_tokens 391 (likely)`: the limit that would have let a turn finish, in a list. Empty where there is none."""
    if suggestion is None:
        return ""
    is_known = suggestion["certainty"] != "undecidable"
    value = f" {suggestion['value']:,}" if is_known else ""
    return f"{suggestion['limit']}{value} ({suggestion['certainty_word']})"


def answer_of(event: Json) -> str:
    """The text of the answer, or part of one, that an event brought."""
    brought = event.get("response") or event.get("partial") or {}
    return str(brought.get("text", ""))


def lines_of(record: Json) -> Iterator[str]:
    """The lines of one record (`{event, transitions, command}` as JSON): what came, what it led to, what is asked."""
    event = record["event"]
    if record.get("provenance") == "derived" and event["type"] == "model_responded":
        yield f"[LLM] Response stop_reason: {event['response']['stop_reason']} (derived; the provider was not asked)"
    else:
        yield from _EVENTS.get(event["type"], _nothing)(event)
    for transition in record["transitions"]:
        if transition["outcome"] is not None:
            yield f"[WHY] {transition['from']} → {transition['to']}: {transition['reason']}"
        if transition["trigger"] == NATURAL_END:
            yield "[THINK] The model answered without tools: the loop ends"
    yield from _COMMANDS.get(record["command"]["type"], _nothing)(record["command"])


def _nothing(_said: Json) -> Iterator[str]:
    yield from ()


def _responded(event: Json) -> Iterator[str]:
    response = event["response"]
    raw = response.get("raw_stop_reason")
    if response.get("answered_by"):
        yield f"[LLM] Answered by {response['answered_by']}: the provider was not asked"
        return
    said = "no stop reason given" if raw is None else f"provider said “{raw}”"
    yield f"[LLM] Response stop_reason: {response['stop_reason']} ({said})"


def _failed(event: Json) -> Iterator[str]:
    yield f"[LLM] Failed: {event['error']['kind']}: {event['error']['message']}"


def _interrupted(_event: Json) -> Iterator[str]:
    yield "[LLM] Interrupted: another worker has taken the turn over"


def _returned(event: Json) -> Iterator[str]:
    for result in event.get("results", ()):
        word = "Error" if result.get("error") else "Result preview"
        yield f"[OBSERVE] {word}: {preview(result['content'])} ({result['name']})"


def _acted(event: Json) -> Iterator[str]:
    yield f"[OPERATOR] {event['by']}: {event.get('action', 'change')}"


def _call_model(command: Json) -> Iterator[str]:
    kind = command["kind"].replace("_", " ")
    request = command["request"]
    sent = request.get("extra", {}).get("uncapped") != "unset"
    cap = f"{command['max_tokens']} tokens" if sent else "Max tokens per call not set"
    yield f"[THINK] Call {command['attempt']} of {request['model']}: {kind}, {cap}"


def _run_tools(command: Json) -> Iterator[str]:
    for call in command.get("calls", ()):
        yield f"[ACT] Executing tool: {call['name']} {preview(call.get('raw', ''))}"


def _wait(command: Json) -> Iterator[str]:
    yield f"[WAIT] {command['seconds']:.1f} s before another try"


def _hold(_command: Json) -> Iterator[str]:
    yield "[HELD] Waiting for an operator"


def _finish(command: Json) -> Iterator[str]:
    yield f"[END] {command['status']}: {command['stop_reason']} ({command['terminal_reason']})"


def preview(text: str) -> str:
    """One line of a text, not too long."""
    line = " ".join(text.split())
    return line if len(line) <= PREVIEW_CHARS else f"{line[:PREVIEW_CHARS]}…"


_EVENTS: Mapping[str, Callable[[Json], Iterator[str]]] = {
    "model_responded": _responded,
    "model_failed": _failed,
    "interrupted": _interrupted,
    "tools_returned": _returned,
    "operator_acted": _acted,
}
_COMMANDS: Mapping[str, Callable[[Json], Iterator[str]]] = {
    "call_model": _call_model,
    "run_tools": _run_tools,
    "wait": _wait,
    "hold": _hold,
    "finish": _finish,
}
