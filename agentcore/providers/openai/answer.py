"""One answer of an OpenAI-compatible server, gathered from its chunks or its whole body by the same rules."""

from collections.abc import Mapping
from typing import Any

from agentcore.messages import CallIssue, ChatResponse, Delta, ToolCall
from agentcore.providers.openai.content import TextPieces, read_content
from agentcore.providers.openai.echo import EchoCollector
from agentcore.providers.openai.usage import find_usage
from agentcore.providers.wire.error_objects import error_inside, find_error
from agentcore.providers.wire.response_assembly import Evidence, Parts, echoable, has_cut_call
from agentcore.providers.wire.stop_reasons import normalize
from agentcore.providers.wire.tool_calls import CallCollector
from agentcore.providers.wire.untrusted_json import count, mapping, sequence, string
from agentcore.reasons import NormalizedStopReason
from agentcore.values import replace

_DIALECT_KEYS = frozenset({"usage", "x_groq"})
_NATIVE_KEYS = frozenset({"native_finish_reason", "stop_reason"})
_ASIDE_KEYS = frozenset({"truncated", "content_filter_results", "prompt_filter_results"})
_PLAIN_KEYS = frozenset({"content", "role"})  # what most deltas hold, and nothing else
# What most chunks and their choices hold; none of it is read but the text, once the first chunk has been.
_PLAIN_CHUNK_KEYS = frozenset(
    {"id", "object", "created", "model", "choices", "usage", "system_fingerprint", "service_tier", "obfuscation"}
)
_PLAIN_CHOICE_KEYS = frozenset({"index", "delta", "finish_reason", "logprobs"})
# A stop string that the caller chose can stand there too, so only a word that hides nothing is believed.
_BELIEVED_ASIDE = frozenset(
    {
        NormalizedStopReason.MAX_TOKENS,
        NormalizedStopReason.CONTEXT_WINDOW_EXCEEDED,
        NormalizedStopReason.SAFETY_BLOCKED,
    }
)


def was_filtered(results: object) -> bool:
    """Whether filter results (of the answer: one object; of the prompt: a list of them) say that text was blocked.

    `filtered` is set only where a filter blocks; one that merely annotates says `detected`.
    """
    found = [mapping(results), *(mapping(mapping(entry).get("content_filter_results")) for entry in sequence(results))]
    return any(mapping(verdict).get("filtered") is True for verdicts in found for verdict in verdicts.values())


class Answer:
    """Collects one answer. `max_tokens` is the cap that was asked for, where known: evidence for truncation."""

    noun = "chat completion"
    ended = False  # its closing event is the framing's `[DONE]`

    def __init__(self, provider: str, max_tokens: int | None = None) -> None:
        self._evidence = Evidence(provider, max_tokens)
        self._text, self._reasoning = TextPieces(), TextPieces()
        self._refusal: list[str] = []
        self._calls = CallCollector()
        self._echo = EchoCollector()
        # Choices with another index than 0, until the one with 0 comes; None from then on.
        self._others: list[tuple[Mapping[str, Any], bool]] | None = []
        self._says_truncated = False
        self._in_deltas = False

    def is_dialect(self, payload: Mapping[str, Any], /) -> bool:
        """Whether an object can be a chunk, an answer or an error of this dialect."""
        return (
            "choices" in payload
            or not _DIALECT_KEYS.isdisjoint(payload)
            or string(payload.get("object")).startswith("chat.completion")
            or find_error(payload) is not None
        )

    def take(self, payload: Mapping[str, Any], /, *, whole: bool) -> Delta | None:
        """Adds a chunk, or (`whole`) a complete body; returns what is new of it to show."""
        evidence = self._evidence
        if not whole and (content := self.text_alone(payload)) is not None:
            text = self._text.take(content)
            return Delta(text) if text else None
        if not evidence.response_id:
            evidence.response_id = string(payload.get("id"))
        if not evidence.model:
            evidence.model = string(payload.get("model"))
        evidence.usage = find_usage(payload) or evidence.usage
        error = find_error(payload)
        if error is not None:
            evidence.take_error(error_inside(error))
        if not _ASIDE_KEYS.isdisjoint(payload):
            self._take_asides(payload, "prompt_filter_results")
        choices = payload.get("choices")
        return self._take_choices(choices, whole=whole) if isinstance(choices, list) else None

    def text_alone(self, payload: Mapping[str, Any], /) -> str | None:
        """The text of a chunk that says nothing else, once the answer is known by its name; None for any other."""
        known = self._in_deltas and self._evidence.response_id and self._evidence.model
        return _plain_content(payload) if known else None

    def take_texts(self, texts: list[str], /) -> list[Delta]:
        """Adds the texts of such chunks; returns what is new of them to show."""
        return [Delta(text) for text in self._text.take_all(texts)]

    def response(self, *, closed: bool, cut_body: bool = False) -> ChatResponse:
        """The answer so far. `closed`: its end was seen; `cut_body`: it is one JSON body that ends too early."""
        if self._others:
            self._take_others()
        if self._others is not None:
            self._evidence.miss("choices")
        broke_off = self._evidence.broke_off(closed=closed, cut_body=cut_body)
        calls = self._read_calls(broke_off=broke_off)
        text = str(self._text)
        parts = Parts(text, str(self._reasoning), "".join(self._refusal), [call for call, _ in calls])
        response = self._evidence.settle(parts, broke_off=broke_off)
        whole = [(call, kept) for call, kept in calls if call.issue is None]
        echo = echoable(response, self._echo.echo(text, whole)) if whole else None
        return response if echo is None else replace(response, echo=echo)

    def _read_calls(self, *, broke_off: bool) -> list[tuple[ToolCall, Mapping[str, Any]]]:
        """The calls, judged beside all evidence of a cut; and that evidence weighed as reasons."""
        at_cap, reasons = self._evidence.at_cap, self._evidence.reasons
        if self._says_truncated:
            reasons.sign("truncated", self._meaning_of_truncated())
        calls = list(self._calls.read(cut=broke_off or at_cap or reasons.saw_cut))
        if not calls and reasons.says_malformed_call:
            calls = [(ToolCall("call_0", "", issue=CallIssue.MALFORMED, shown_whole=False), {})]
        if at_cap and (broke_off or _may_hide_a_cut([call for call, _ in calls])):
            reasons.sign("usage", NormalizedStopReason.MAX_TOKENS)
        return calls

    def _meaning_of_truncated(self) -> NormalizedStopReason:
        """llama.cpp's flag: with tokens left under the cap it was the context that ran out."""
        evidence = self._evidence
        return NormalizedStopReason.CONTEXT_WINDOW_EXCEEDED if evidence.under_cap else NormalizedStopReason.MAX_TOKENS

    def _take_choices(self, choices: list[Any], *, whole: bool) -> Delta | None:
        """Reads the one choice this product shows: the first by its index. Others wait until it is there."""
        for choice in choices:
            if isinstance(choice, dict) and choice:
                if not choice.get("index"):
                    self._others = None
                    return self._take_choice(choice, whole=whole)
                if self._others is not None:
                    self._others.append((choice, whole))
        return None

    def _take_others(self) -> None:
        """What came of the first choice of a server that does not number its choices from 0."""
        others, self._others = self._others or [], None
        first = min((count(choice["index"]) or 0 for choice, _ in others), default=0)
        for choice, whole in others:
            if (count(choice["index"]) or 0) == first:
                self._take_choice(choice, whole=whole)

    def _take_choice(self, choice: Mapping[str, Any], *, whole: bool) -> Delta | None:
        if not _ASIDE_KEYS.isdisjoint(choice):
            self._take_asides(choice, "content_filter_results")
        if choice.get("finish_reason") is not None or not _NATIVE_KEYS.isdisjoint(choice):
            self._take_reasons(choice)
        message, as_piece = self._message(choice, whole=whole)
        return self._take_message(message, as_piece=as_piece) if message else None

    def _take_asides(self, place: Mapping[str, Any], filters: str) -> None:
        """What stands beside a reason: llama.cpp's flag of a cut; Azure's filters, which can strike after the text."""
        self._says_truncated |= place.get("truncated") is True
        if was_filtered(place.get(filters)):
            self._evidence.reasons.sign(filters, NormalizedStopReason.SAFETY_BLOCKED)

    def _take_reasons(self, choice: Mapping[str, Any]) -> None:
        reasons = self._evidence.reasons
        if isinstance(label := choice.get("finish_reason"), str):
            reasons.label("finish_reason", string(label), normalize(label))
        if isinstance(native := choice.get("native_finish_reason"), str):
            reasons.native("native_finish_reason", string(native), normalize(native))
        if isinstance(aside := choice.get("stop_reason"), str):
            reasons.native("stop_reason", string(aside), _believed_aside(string(aside)))

    def _message(self, choice: Mapping[str, Any], *, whole: bool) -> tuple[Mapping[str, Any], bool]:
        """The message of a choice, and whether it is a piece. A stream's `message` only repeats its deltas."""
        delta = choice.get("delta")
        if delta and not whole and isinstance(delta, dict):
            self._in_deltas = True
            return delta, True
        message = mapping(choice.get("message"))
        if message and not self._in_deltas:
            return message, False
        if delta or self._in_deltas:
            return mapping(delta), not whole
        return {"content": choice.get("text")}, not whole

    def _take_message(self, message: Mapping[str, Any], *, as_piece: bool) -> Delta | None:
        content = message.get("content")
        if isinstance(content, str) and not any(message[key] for key in message.keys() - _PLAIN_KEYS):
            text = self._text.take(content)
            return Delta(text) if text else None
        return self._take_parts(message, as_piece=as_piece)

    def _take_parts(self, message: Mapping[str, Any], *, as_piece: bool) -> Delta | None:
        """All that a message can hold beside its text."""
        content = read_content(message)
        text, reasoning = self._text.take(content.text), self._reasoning.take(content.reasoning)
        if content.refusal.strip() or (content.refusal and self._refusal):
            self._refusal.append(content.refusal)
        self._echo.take(message)
        take = self._calls.take_piece if as_piece else self._calls.take_whole
        news = [take(mapping(entry)) for entry in sequence(message.get("tool_calls"))]
        if legacy := mapping(message.get("function_call")):
            news.append(self._calls.take_legacy(legacy))
        name, arguments = ("".join(parts) for parts in zip(*news, strict=True)) if news else ("", "")
        return Delta(text, reasoning, name, arguments) if text or reasoning or name or arguments else None


def _plain_content(payload: Mapping[str, Any]) -> str | None:
    """The text of a chunk that says nothing else, as nearly all of a stream do; None for any other chunk."""
    choices = payload.get("choices")
    if payload.get("usage") is not None or not payload.keys() <= _PLAIN_CHUNK_KEYS:
        return None
    if not isinstance(choices, list) or len(choices) != 1 or not isinstance(choices[0], dict):
        return None
    choice = choices[0]
    delta = choice.get("delta")
    if choice.get("index") != 0 or choice.get("finish_reason") is not None or not choice.keys() <= _PLAIN_CHOICE_KEYS:
        return None
    if not isinstance(delta, dict) or not delta.keys() <= _PLAIN_KEYS:
        return None
    content = delta.get("content")
    return content if isinstance(content, str) else None


def _believed_aside(word: str) -> NormalizedStopReason:
    """What a `stop_reason` beside the label means where no caller's stop string would read like it."""
    meant = normalize(word)
    is_a_code = "_" in word or word == "refusal"
    return meant if is_a_code and meant in _BELIEVED_ASIDE else NormalizedStopReason.UNKNOWN


def _may_hide_a_cut(calls: list[ToolCall]) -> bool:
    """Whether calls at the cap look cut. vLLM labels such a call `tool_calls`, and can write `{}` for what it lost."""
    return has_cut_call(calls) or (bool(calls) and calls[-1].raw.strip() == "{}")
