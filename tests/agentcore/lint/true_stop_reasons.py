"""Two hundred turns that end in odd ways and say truly why."""

from collections.abc import Iterator

from tests.agentcore.lint.misleading_stop_reasons import CODE, FORM, PROSE, THOUGHT
from tests.agentcore.lint.payloads import CUT, ENDED, Answer
from tests.agentcore.lint.turns import TEXTS, Told, tokens_of

#: It ends without a full stop; uncounted, and as long as the cap allows, nobody could tell.
UNDECIDABLE = 80


def _honest() -> Iterator[Told]:
    """Each text twice: as counted, well below the cap; and not counted, at about the length of the cap."""
    dialects = [*ENDED]
    for n, text in enumerate(TEXTS):
        first, second = dialects[n % 8], dialects[(3 * n + 1) % 8]
        used = tokens_of(text)
        yield Told(f"{n} counted", first, used + 40 + 37 * n, Answer(text, used=used))
        yield Told(f"{n} not counted", second, 2 * used if n == UNDECIDABLE else used, Answer(text))
    yield from _others()


def _others() -> Iterator[Told]:
    for dialect, word in CUT.items():
        yield Told(f"cut and said so: {dialect}", dialect, 40, Answer(PROSE, word, 40))
    for n, dialect in enumerate(("openai", "anthropic", "gemini", "bedrock", "ollama", "cohere")):
        call = Answer("Let me look that up, using the (", used=30 + n, call=("search", '{"q": "limits"}'))
        yield Told(f"words before a call: {dialect}", dialect, 400, call)
    forced = Answer("", "stop", 12, call=("search", '{"q": "limits"}'))
    yield Told("a forced call says stop", "openai", 400, forced)
    yield Told("a stop string inside JSON", "anthropic", 400, Answer('{"a": 1, "b": 2', "stop_sequence", 9))
    yield Told("a stop string inside a fence", "openai", 400, Answer(CODE, more=(("stop_reason", "END"),)))
    yield Told("a fence that a continuation closes", "openai", 90, Answer(".load(lines)]\n```", used=9), before=CODE)
    yield Told("JSON that a continuation closes", "anthropic", 90, Answer('ond"]}', used=9), before=FORM)
    yield Told("a call cut and said so", "openai", 30, Answer("", "length", 30, call=("mail", '{"to": "a')))
    yield Told("shown reasoning, then text", "openai", 400, Answer(TEXTS[0], used=300, reasoning=THOUGHT, reasoned=250))
    yield Told("more than was asked for", "openai", 100, Answer(TEXTS[0], used=220))


HONEST = tuple(_honest())
