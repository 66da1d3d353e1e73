"""One answer of an OpenAI-compatible server, gathered from its chunks or its whole body by the same rules."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from agentcore.messages import CallIssue, ChatResponse, Delta, ToolCall
from agentcore.providers.openai.content import read_content
from agentcore.providers.openai.echo import EchoCollector
from agentcore.providers.openai.usage import find_usage
from agentcore.providers.wire.calls import CallCollector
from agentcore.providers.wire.error_objects import error_inside, find_error
from agentcore.providers.wire.settled import Evidence, Parts, echoable, has_cut_call
from agentcore.providers.wire.shapes import count, mapping, sequence, string
from agentcore.providers.wire.words import normalize
from agentcore.reasons import NormalizedStopReason

_DIALECT_KEYS = frozenset({"choices", "usage", "x_groq"})
_UNKNOWN = NormalizedStopReason.UNKNOWN
# A stop string that the caller chose can stand there too, so only a word that hides nothing is believed.
_BELIEVED_ASIDE = frozenset(
    {
        NormalizedStopReason.MAX_TOKENS,
        NormalizedStopReason.CONTEXT_WINDOW_EXCEEDED,
        NormalizedStopReason.SAFETY_BLOCKED,
    }
)


class Answer:
    """Collects one answer. `max_tokens` is the cap that was asked for, where known: evidence for truncation."""

    noun = "chat completion"

    def __init__(self, provider: str, max_tokens: int | None = None) -> None:
        self._evidence = Evidence(provider, max_tokens)
        self._texts: list[str] = []
        self._reasoning: list[str] = []
        self._refusal: list[str] = []
        self._calls = CallCollector()
        self._echo = EchoCollector()
        self._choice: object = None  # the index of the one choice that is read
        self._says_truncated = False
        self._in_deltas = False

    def is_dialect(self, payload: Mapping[str, Any], /) -> bool:
        """Whether an object can be a chunk, an answer or an error of this dialect."""
        return (
            not _DIALECT_KEYS.isdisjoint(payload)
            or string(payload.get("object")).startswith("chat.completion")
            or find_error(payload) is not None
        )

    def take(self, payload: Mapping[str, Any], /, *, whole: bool) -> Delta | None:
        """Adds a chunk, or (`whole`) a complete body; returns what is new of it to show."""
        evidence = self._evidence
        evidence.response_id = evidence.response_id or string(payload.get("id"))
        evidence.model = evidence.model or string(payload.get("model"))
        evidence.usage = find_usage(payload) or evidence.usage
        self._says_truncated |= payload.get("truncated") is True
        error = find_error(payload)
        if error is not None:
            evidence.take_error(error_inside(error))
        choices = sequence(payload.get("choices"))
        return self._take_choice(choices, whole=whole) if choices else None

    def response(self, *, closed: bool, cut_body: bool = False) -> ChatResponse:
        """The answer so far. `closed`: its end was seen; `cut_body`: it is one JSON body that ends too early."""
        broke_off = self._evidence.broke_off(closed=closed, cut_body=cut_body)
        calls = self._read_calls(broke_off=broke_off)
        text = "".join(self._texts)
        parts = Parts(text, "".join(self._reasoning), "".join(self._refusal), [call for call, _ in calls])
        response = self._evidence.settle(parts, broke_off=broke_off)
        whole = [(call, kept) for call, kept in calls if call.issue is None]
        return replace(response, echo=echoable(response, self._echo.echo(text, whole)))

    def _read_calls(self, *, broke_off: bool) -> list[tuple[ToolCall, Mapping[str, Any]]]:
        """The calls, judged beside all evidence of a cut; and that evidence weighed as reasons."""
        at_cap, reasons = self._evidence.at_cap, self._evidence.reasons
        if self._says_truncated:
            reasons.sign("truncated", self._meaning_of_truncated())
        calls = list(self._calls.read(cut=broke_off or at_cap or reasons.saw_cut))
        if not calls and reasons.says_malformed_call:
            calls = [(ToolCall("call_0", "", issue=CallIssue.MALFORMED, shown_whole=False), {})]
        if at_cap and (broke_off or has_cut_call([call for call, _ in calls])):
            reasons.sign("usage", NormalizedStopReason.MAX_TOKENS)
        return calls

    def _meaning_of_truncated(self) -> NormalizedStopReason:
        """llama.cpp's flag: with tokens left under the cap it was the context that ran out."""
        evidence = self._evidence
        room_left = evidence.cap is not None and evidence.usage is not None and not evidence.at_cap
        return NormalizedStopReason.CONTEXT_WINDOW_EXCEEDED if room_left else NormalizedStopReason.MAX_TOKENS

    def _take_choice(self, choices: Sequence[Any], *, whole: bool) -> Delta | None:
        """Reads the one choice this product shows: the first that was seen."""
        choice = next((mapping(c) for c in choices if self._is_ours(mapping(c))), None)
        if choice is None:
            return None
        self._says_truncated |= choice.get("truncated") is True
        self._take_reasons(choice)
        message, as_piece = self._message(choice, whole=whole)
        return self._take_message(message, as_piece=as_piece) if message else None

    def _is_ours(self, choice: Mapping[str, Any]) -> bool:
        index = count(choice.get("index")) or 0
        if self._choice is None and choice:
            self._choice = index
        return bool(choice) and index == self._choice

    def _take_reasons(self, choice: Mapping[str, Any]) -> None:
        label, native, aside = (choice.get(k) for k in ("finish_reason", "native_finish_reason", "stop_reason"))
        if isinstance(label, str):
            self._evidence.reasons.label("finish_reason", string(label), normalize(label))
        if isinstance(native, str):
            self._evidence.reasons.native("native_finish_reason", string(native), normalize(native))
        if isinstance(aside, str):
            meant = normalize(aside)
            believed = meant if meant in _BELIEVED_ASIDE else _UNKNOWN
            self._evidence.reasons.native("stop_reason", string(aside), believed)

    def _message(self, choice: Mapping[str, Any], *, whole: bool) -> tuple[Mapping[str, Any], bool]:
        """The message of a choice, and whether it is a piece. A stream's `message` only repeats its deltas."""
        delta, message = mapping(choice.get("delta")), mapping(choice.get("message"))
        if not whole and delta:
            self._in_deltas = True
            return delta, True
        if message and not self._in_deltas:
            return message, False
        if delta or self._in_deltas:
            return delta, not whole
        return {"content": choice.get("text")}, not whole

    def _take_message(self, message: Mapping[str, Any], *, as_piece: bool) -> Delta | None:
        content = read_content(message)
        for kept, new in ((self._texts, content.text), (self._reasoning, content.reasoning)):
            if new:
                kept.append(new)
        if content.refusal.strip() or (content.refusal and self._refusal):
            self._refusal.append(content.refusal)
        self._echo.take(message)
        take = self._calls.take_piece if as_piece else self._calls.take_whole
        news = [take(mapping(entry)) for entry in sequence(message.get("tool_calls"))]
        if legacy := mapping(message.get("function_call")):
            news.append(self._calls.take_legacy(legacy))
        name, arguments = ("".join(parts) for parts in zip(*news, strict=True)) if news else ("", "")
        if content.text or content.reasoning or name or arguments:
            return Delta(content.text, content.reasoning, name, arguments)
        return None
