"""One answer of an OpenAI-compatible server, gathered from its chunks or its whole body by the same rules."""

from collections.abc import Mapping, Sequence
from typing import Any

from agentcore.errors import ErrorType, ProviderError
from agentcore.messages import CallIssue, ChatResponse, Delta, TokenUsage, ToolCall
from agentcore.providers.openai_calls import CallCollector
from agentcore.providers.openai_content import read_content
from agentcore.providers.openai_echo import EchoCollector
from agentcore.providers.openai_errors import ErrorObject, error_inside, find_error
from agentcore.providers.openai_usage import find_usage
from agentcore.providers.openai_words import normalize
from agentcore.providers.reason_tracker import ReasonTracker, Verdict
from agentcore.providers.shapes import count, mapping, sequence, string
from agentcore.reasons import NormalizedStopReason

_BROKE_OFF = ProviderError(
    ErrorType.MODEL,
    "incomplete_stream",
    "The answer broke off: the connection ended before a stop reason or the closing event came.",
)
_UNKNOWN = NormalizedStopReason.UNKNOWN
# Under these an answer should hold something.
_EXPECT_OUTPUT = frozenset({NormalizedStopReason.END_TURN, NormalizedStopReason.MAX_TOKENS})
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

    def __init__(self, provider: str, max_tokens: int | None = None) -> None:
        self._provider = provider
        self._cap = max_tokens
        self._texts: list[str] = []
        self._reasoning: list[str] = []
        self._refusal: list[str] = []
        self._calls = CallCollector()
        self._echo = EchoCollector()
        self._reasons = ReasonTracker()
        self._usage: TokenUsage | None = None
        self._error: ProviderError | None = None
        self._model = self._id = ""
        self._choice: object = None  # the index of the one choice that is read
        self._says_truncated = False
        self._in_deltas = False

    def take(self, payload: Mapping[str, Any], *, whole: bool) -> Delta | None:
        """Adds a chunk, or (`whole`) a complete body; returns what is new of it to show."""
        self._id = self._id or string(payload.get("id"))
        self._model = self._model or string(payload.get("model"))
        self._usage = find_usage(payload) or self._usage
        self._says_truncated |= payload.get("truncated") is True
        error = find_error(payload)
        if error is not None:
            self.take_error(error)
        choices = sequence(payload.get("choices"))
        return self._take_choice(choices, whole=whole) if choices else None

    def take_error(self, error: ErrorObject) -> None:
        """Adds an error object; the first one tells most."""
        found = error_inside(error)
        self._error = self._error or found
        reason = found.stop_reason or _UNKNOWN
        self._reasons.error("error", (found.code if found.stop_reason else None) or "error", reason)

    def response(self, *, closed: bool, cut_body: bool = False) -> ChatResponse:
        """The answer so far. `closed`: its end was seen; `cut_body`: it is one JSON body that ends too early."""
        broke_off = cut_body or not (closed or self._reasons.has_word or self._error)
        if cut_body:
            self._reasons.break_off("body")
        calls = self._read_calls(broke_off=broke_off)
        verdict = self._reasons.settle(has_calls=bool(calls))
        error = self._error or (_BROKE_OFF if broke_off and verdict.stop_reason is _UNKNOWN else None)
        text = "".join(self._texts)
        whole = [(call, kept) for call, kept in calls if call.issue is None]
        broken = tuple(call for call, _ in calls if call.issue is not None)
        silent = not (text.strip() or calls or self._refusal or error) and _expects_output(verdict)
        return ChatResponse(
            text=text,
            tool_calls=tuple(call for call, _ in whole),
            broken_tool_calls=broken,
            usage=self._usage,
            reasoning_content="".join(self._reasoning),
            stop_reason=verdict.stop_reason,
            raw_stop_reason=verdict.raw,
            reason_trail=self._reasons.trail,
            refusal="".join(self._refusal) or None,
            diagnostics=("empty_output",) * silent + ("relabelled",) * verdict.relabelled,
            provider=self._provider,
            model=self._model,
            response_id=self._id or None,
            incomplete_stream=broke_off,
            error=error,
            echo=None if broken or broke_off else self._echo.echo(text, whole),
        )

    def _read_calls(self, *, broke_off: bool) -> list[tuple[ToolCall, Mapping[str, Any]]]:
        """The calls, judged beside all evidence of a cut; and that evidence weighed as reasons."""
        at_cap = bool(self._cap and self._usage and self._usage.output_tokens >= self._cap)
        if self._says_truncated:
            self._reasons.sign("truncated", self._meaning_of_truncated(at_cap=at_cap))
        calls = list(self._calls.read(cut=broke_off or at_cap or self._reasons.saw_cut))
        if not calls and self._reasons.says_malformed_call:
            calls = [(ToolCall("call_0", "", issue=CallIssue.MALFORMED, shown_whole=False), {})]
        cut_call = any(call.issue is CallIssue.TRUNCATED for call, _ in calls)
        if at_cap and (cut_call or broke_off):
            self._reasons.sign("usage", NormalizedStopReason.MAX_TOKENS)
        if self._refusal:
            self._reasons.sign("refusal", NormalizedStopReason.SAFETY_BLOCKED)
        return calls

    def _meaning_of_truncated(self, *, at_cap: bool) -> NormalizedStopReason:
        """llama.cpp's flag: with tokens left under the cap it was the context that ran out."""
        room_left = self._cap is not None and self._usage is not None and not at_cap
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
            self._reasons.label("finish_reason", string(label), normalize(label))
        if isinstance(native, str):
            self._reasons.native("native_finish_reason", string(native), normalize(native))
        if isinstance(aside, str):
            meant = normalize(aside)
            believed = meant if meant in _BELIEVED_ASIDE else _UNKNOWN
            self._reasons.native("stop_reason", string(aside), believed)

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


def _expects_output(verdict: Verdict) -> bool:
    """Whether silence is worth a word: the answer ended as one that says something, or without a reason at all."""
    return verdict.stop_reason in _EXPECT_OUTPUT or not verdict.raw
