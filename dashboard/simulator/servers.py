"""Models that do what real servers do beside answering: one row for each fault or way that was seen.

| model                 | what it does                                                                             |
|-----------------------|------------------------------------------------------------------------------------------|
| `sim-prefill`         | really continues a last assistant message, without an echo (vLLM with its flags, DeepSeek) |
| `sim-prefill-echo`    | continues it, and sends the prefilled text again first; only new tokens count (llama.cpp) |
| `sim-prefill-ignored` | begins anew after a last assistant message (most chat APIs)                              |
| `sim-prefill-refused` | answers 400 to a last assistant message (Claude from 4.6 on, Mistral without `prefix`)   |
| `sim-closing`         | promises keep-alive and closes the connection after each stream                          |
| `sim-json-anew`       | a JSON grammar that begins anew at each continuation: the parts join to no JSON          |
| `sim-hint-differs`    | says another text after a hint than in one go; continues exactly after a prefill         |
| `sim-array`           | says 61 equal elements, and goes on after a hint without repeating any                   |
| `sim-no-usage`        | reports no token counts                                                                  |
| `sim-no-choices`      | answers 200 with `choices: []`                                                           |
| `sim-reasons`         | thinks for 300 tokens before each answer, reports them, and says 80 tokens               |
| `sim-silent`          | stops in mid-stream without closing the connection                                       |

The four that are about prefills say the days of the week or the months of the year to whoever asks for these, a short
text of repeated words to a question with "what was", and the essay to all others.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import islice

from dashboard.simulator import errors, texts
from dashboard.simulator.behaviour import Behaviour
from dashboard.simulator.dialects.base import encoded
from dashboard.simulator.errors import Reply
from dashboard.simulator.request_values import CheckedRequest, Speaker
from dashboard.simulator.script_player import Script, fixed, verbatim
from dashboard.simulator.texts import tokens_of

_OPENAI = ("openai", "llama")
_UNCOUNTED = ("openai", "llama", "ollama")


def _subject(asked: CheckedRequest) -> str:
    """The whole text that the last question asks for."""
    question = next((line.text for line in reversed(asked.lines) if line.speaker is Speaker.USER), "").lower()
    return next((text for words, text in texts.LISTS.items() if words in question), texts.ESSAY)


def _continued(asked: CheckedRequest) -> Script:
    return Script(fixed(_subject(asked)))


def _echoed(asked: CheckedRequest) -> Script:
    return replace(_continued(asked), echo=asked.said if asked.prefilled else "")


def _begun_anew(asked: CheckedRequest) -> Script:
    whole = _subject(asked)
    return Script(verbatim(whole)) if asked.prefilled else _continued(asked)


def _refused(asked: CheckedRequest) -> Script:
    if asked.prefilled:
        raise errors.prefill_refused()
    return _continued(asked)


def _grammar_anew(asked: CheckedRequest) -> Script:
    """The report; asked to go on with it, a whole object of the rest."""
    if not asked.wants_json:
        return Script(fixed(texts.NO_JSON))
    whole = texts.REST_OF_REPORT if asked.said else texts.REPORT
    return Script(verbatim(whole))


def _other_after_hint(asked: CheckedRequest) -> Script:
    hinted = bool(asked.said) and not asked.prefilled
    return Script(fixed(texts.OTHER_END if hinted else texts.ESSAY))


def _reasoned(_asked: CheckedRequest) -> Script:
    return replace(Script(fixed("".join(islice(tokens_of(texts.ESSAY), 80)))), thinks=300)


def _no_choices(asked: CheckedRequest) -> Reply:
    kind = "chat.completion.chunk" if asked.stream else "chat.completion"
    body = encoded({"id": "chatcmpl-none", "object": kind, "created": 0, "model": asked.model, "choices": []})
    if asked.stream:
        return Reply(200, b"data: " + body + b"\n\ndata: [DONE]\n\n", "text/event-stream; charset=utf-8")
    return Reply(200, body)


def _essay(**settings: bool) -> Callable[[CheckedRequest], Script]:
    return lambda _asked: replace(Script(fixed(texts.ESSAY)), **settings)  # type: ignore[arg-type]


SERVERS: Mapping[str, Behaviour] = {
    "sim-prefill": Behaviour(_continued),
    "sim-prefill-echo": Behaviour(_echoed),
    "sim-prefill-ignored": Behaviour(_begun_anew),
    "sim-prefill-refused": Behaviour(_refused),
    "sim-closing": Behaviour(_essay(closes=True)),
    "sim-json-anew": Behaviour(_grammar_anew),
    "sim-hint-differs": Behaviour(_other_after_hint),
    "sim-array": Behaviour(lambda _asked: Script(fixed(texts.ARRAY), repeats=False)),
    "sim-no-usage": Behaviour(_essay(counted=False), dialects=_UNCOUNTED),
    "sim-no-choices": Behaviour(_no_choices, dialects=_OPENAI),
    "sim-reasons": Behaviour(_reasoned, dialects=("openai",)),
    "sim-silent": Behaviour(_essay(falls_silent=True)),
}
