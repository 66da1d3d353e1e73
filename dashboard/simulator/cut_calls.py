"""Every form in which a cut tool call comes over the wire, one model each; under a large budget all make the same call.

What is shown of a cut call, and which word stands beside it, is the vendors' doing and differs: this is the table.
`sim-cut-tool` itself shows what was written, under the word for a spent budget.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice

from dashboard.simulator import texts
from dashboard.simulator.request_values import CheckedRequest
from dashboard.simulator.script_player import Call, Ending, Script, fixed, verbatim
from dashboard.simulator.texts import count_tokens, tokens_of

_LONGEST_QUOTE = 200  #: characters of a tool's result
_WHOLE = json.dumps({"expression": texts.LONG_EXPRESSION})
#: One value is finished; the key that was being written next is dropped.
_FINISHED_KEY = '{"expression": "17 + 25"'


@dataclass(frozen=True, slots=True)
class CutForm:
    """What comes of the call when the budget is spent within it.

    `shown`: from what was written of the arguments to what is shown of them; `None`: the call itself is not shown.
    `as_text`: it comes out as text. `ending`: an ending some dialects do not have is their error, or makes it no model
    of theirs (`needed`).
    """

    shown: Callable[[str], str] | None = str
    ending: Ending = Ending.LENGTH
    as_text: bool = False
    needed: bool = False


#: By the model's name. Who does so: providers whose answers were seen, or of whom it was reported.
CUT_FORMS: Mapping[str, CutForm] = {
    "sim-cut-empty": CutForm(lambda _: ""),  # DeepSeek, Mistral
    "sim-cut-braces": CutForm(lambda _: "{}"),  # vLLM
    "sim-cut-label": CutForm(ending=Ending.CALLS),  # vLLM says that a call was made
    "sim-cut-native": CutForm(ending=Ending.NATIVE, needed=True),  # OpenRouter
    "sim-cut-key": CutForm(lambda _: _FINISHED_KEY),  # Anthropic, Bedrock: parses when whole, and is not what was meant
    "sim-cut-context": CutForm(ending=Ending.CONTEXT),  # Anthropic, Bedrock
    "sim-cut-malformed": CutForm(ending=Ending.MALFORMED),  # Bedrock, Gemini
    "sim-cut-dropped": CutForm(None),  # Gemini, Ollama
    "sim-cut-remnant": CutForm(None, as_text=True),  # Ollama
    "sim-cut-open": CutForm(ending=Ending.OPEN_CALL, needed=True),  # Vertex
}


def cut_call(form: CutForm) -> Callable[[CheckedRequest], Script]:
    """What a model of this form does."""

    def script(asked: CheckedRequest) -> Script:
        if asked.results or not asked.tools or asked.budget > count_tokens(_WHOLE):
            return long_call(asked)
        written = "".join(islice(tokens_of(_WHOLE), asked.budget - 1))
        name = called_tool(asked)
        if form.as_text:
            remnant = f'{{"name": "{name}", "parameters": {written}'
            return Script(verbatim(remnant), ending=form.ending, spent=asked.budget)
        # Only what is shown must fit; the budget went into what was written.
        calls = (Call(name, form.shown(written)),) if form.shown else ()
        return Script(fixed(""), calls, form.ending, spent=asked.budget)

    return script


def long_call(asked: CheckedRequest) -> Script:
    """A call of exactly 80 tokens, and a sentence once its result is there."""
    if asked.results:
        return Script(fixed(f"The sum comes to {asked.results[-1][:_LONGEST_QUOTE]}."))
    if not asked.tools:
        return Script(fixed(texts.NO_TOOLS))
    return Script(fixed(""), (Call(called_tool(asked), _WHOLE),), Ending.CALLS)


def called_tool(asked: CheckedRequest) -> str:
    return "calculator" if "calculator" in asked.tools else asked.tools[0]
