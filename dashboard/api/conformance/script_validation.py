"""From what was sent to the answers that the simulator plays, in bounds, each fault told by the field that has it."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest

from django.core.exceptions import ValidationError

from agentcore.quoting import quoted
from dashboard.api.conformance.schemas import ScriptedAnswer, ScriptedCall, ScriptedError, SimulatorScript
from dashboard.simulator import texts
from dashboard.simulator.dialects.request_reader import CEILING
from dashboard.simulator.errors import RequestError
from dashboard.simulator.model_table import MODELS
from dashboard.simulator.script_player import Call
from dashboard.simulator.scripts import ENDINGS, Answer

MOST_ANSWERS = 50
MOST_CALLS = 16  #: of one answer
LONGEST = 200_000  #: characters of all answers together
LONGEST_DELAY = 60_000  #: milliseconds
LONGEST_WAIT = 3_600  #: seconds of retry-after
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
#: What an answer in words of its own has; `delay_ms` goes with any.
_OWN = tuple(name for name in ScriptedAnswer.model_fields if name not in ("behaviour", "error", "delay_ms"))
_SEQUENCES = ("mockTruncationSequence", "mockSchemaViolationSequence", "envelope", "violation")


def name_clean(name: str) -> str:
    if not _NAME.fullmatch(name):
        words = "It must be 1 to 63 small letters, digits, dots, dashes and underscores, a letter or a digit first."
        raise ValidationError({"name": words})
    return name


def answers_of(body: SimulatorScript) -> list[Answer]:
    """At least one. Raises `ValidationError` by field."""
    if body.answers is None:
        answers = list(_sequence(body))
    else:
        beside = next((name for name in _SEQUENCES if name in body.model_fields_set), None)
        if beside is not None:
            raise ValidationError({beside: "It cannot be combined with answers. Send one of the two."})
        _within("answers", len(body.answers), MOST_ANSWERS, least=1)
        answers = [_answer(f"answers.{index}", sent) for index, sent in enumerate(body.answers)]
    _within("answers", sum(map(_length, answers)), LONGEST, of="characters in all")
    return answers


def _sequence(body: SimulatorScript) -> Iterator[Answer]:
    """The answers of the RFC's sequences, and after them one in which nothing is wrong."""
    cuts, violations = body.mockTruncationSequence, body.mockSchemaViolationSequence
    if cuts is None and violations is None:
        raise ValidationError({"answers": "It is required, unless mockTruncationSequence is given."})
    for name, given in ((_SEQUENCES[0], cuts), (_SEQUENCES[1], violations)):
        _within(name, len(given or ()), MOST_ANSWERS)
    for index, cut in enumerate(cuts or ()):
        _within(f"mockTruncationSequence.{index}", cut, CEILING)
    good = _json(body, "envelope", texts.REPORT)
    bad = _json(body, "violation", texts.VIOLATION)
    for cut, violated in zip_longest(cuts or (), violations or (), fillvalue=0):
        yield Answer(bad if violated else good, cut_after=cut or None)
    yield Answer(good)


def _json(body: SimulatorScript, field: str, otherwise: str) -> str:
    return json.dumps(getattr(body, field)) if field in body.model_fields_set else otherwise


def _answer(place: str, sent: ScriptedAnswer) -> Answer:
    _one_kind(place, sent)
    _within(f"{place}.delay_ms", sent.delay_ms, LONGEST_DELAY)
    delay = sent.delay_ms / 1000
    if sent.error is not None:
        return Answer(error=_error(f"{place}.error", sent.error), delay=delay)
    if sent.behaviour is not None:
        return Answer(like=_model(f"{place}.behaviour", sent.behaviour), delay=delay)
    cut_after = _cut_after(f"{place}.truncated", sent.truncated)
    _within(f"{place}.tool_calls", len(sent.tool_calls), MOST_CALLS)
    _within(f"{place}.output_tokens", sent.output_tokens or 0, 10_000_000)
    return Answer(
        text=sent.text,
        calls=tuple(_call(call) for call in sent.tool_calls),
        refusal=sent.refusal,
        ending=ENDINGS[sent.stop_reason] if sent.stop_reason else None,
        raw=sent.raw_stop_reason,
        cut_after=cut_after,
        spent=sent.output_tokens,
        hangs_up=sent.hangs_up,
        delay=delay,
    )


def _one_kind(place: str, sent: ScriptedAnswer) -> None:
    """A behaviour and an error stand alone; a refusal takes the place of what would be said."""
    given = sent.model_fields_set
    alone: Mapping[str, Sequence[str]] = {
        "behaviour": ("error", *_OWN),
        "error": _OWN,
        "refusal": ("text", "tool_calls", "stop_reason", "truncated", "hangs_up"),
    }
    for field, others in alone.items():
        beside = next((name for name in others if name in given), None)
        if getattr(sent, field) is not None and beside is not None:
            raise ValidationError({f"{place}.{field}": f"It does not go with {beside}; send one of the two."})


def _error(place: str, sent: ScriptedError) -> RequestError:
    _within(f"{place}.status", sent.status, 599, least=400)
    _within(f"{place}.retry_after", sent.retry_after or 0, LONGEST_WAIT)
    headers = () if sent.retry_after is None else (("retry-after", str(sent.retry_after)),)
    kind = "server_error" if sent.status >= 500 else "invalid_request_error"
    return RequestError(sent.status, sent.message, sent.code, kind=kind, headers=headers)


def _model(place: str, name: str) -> str:
    if name not in MODELS:
        raise ValidationError(
            {place: f"There is no model {quoted(name)} in the simulator; there are {', '.join(MODELS)}."}
        )
    return name


def _cut_after(place: str, truncated: bool | int) -> int | None:
    """As `Answer` has it: 0 is half way."""
    if isinstance(truncated, bool):
        return 0 if truncated else None
    _within(place, truncated, CEILING, least=1)
    return truncated


def _call(sent: ScriptedCall) -> Call:
    return Call(sent.name, sent.arguments if isinstance(sent.arguments, str) else json.dumps(sent.arguments))


def _length(answer: Answer) -> int:
    words = [answer.text, answer.refusal or "", answer.error.message if answer.error else ""]
    return sum(map(len, words)) + sum(len(call.name) + len(call.arguments) for call in answer.calls)


def _within(place: str, value: int, most: int, *, least: int = 0, of: str = "") -> None:
    if not least <= value <= most:
        beside = f" {of}" if of else ""
        raise ValidationError({place: f"It must be from {least} to {most:,}{beside}, not {value:,}."})
