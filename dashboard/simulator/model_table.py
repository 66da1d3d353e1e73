"""The models: what each name does, in no dialect. `MODELS` is the whole list."""

import json
import time
from collections.abc import Callable, Mapping

from dashboard.simulator import errors, texts
from dashboard.simulator.behaviour import Behaviour, Response, Silence
from dashboard.simulator.cut_calls import CUT_FORMS, called_tool, cut_call, long_call
from dashboard.simulator.errors import Reply, RequestError
from dashboard.simulator.request_values import CheckedRequest
from dashboard.simulator.script_player import Call, Ending, Script, fixed
from dashboard.simulator.servers import SERVERS
from dashboard.simulator.texts import rest_of_list

SIMULATOR = "simulator"  #: what pages and logs call the provider of these models, and the connection's name
_LONGEST_QUOTE = 200  #: characters of a tool's result
_RETRY_AFTER = 1  #: seconds


def _always(response: Response) -> Callable[[CheckedRequest], Response]:
    return lambda _asked: response


def _refusing(refusal: Callable[[], RequestError]) -> Callable[[CheckedRequest], Response]:
    def refuse(_asked: CheckedRequest) -> Response:
        raise refusal()

    return refuse


def _two_calls(asked: CheckedRequest) -> Script:
    if asked.results and (asked.parallel or len(asked.results) > 1):
        quoted = "; ".join(result[:_LONGEST_QUOTE] for result in asked.results)
        return Script(fixed(f"Both numbers are in. The tools returned: {quoted}."))
    if "calculator" in asked.tools:
        first, second = _calculation("6 * 7"), _calculation("2 ** 10")
        if asked.parallel:
            return _calling(texts.TOOLS_INTRO, first, second)
        return _calling("", second) if asked.results else _calling(texts.TOOLS_INTRO, first)
    if asked.tools:
        return _calling(texts.TOOLS_INTRO, Call(asked.tools[0], "{}"))
    return Script(fixed(texts.NO_TOOLS))


def _calling(intro: str, *calls: Call) -> Script:
    return Script(fixed(intro), calls, Ending.CALLS)


def _calculation(expression: str) -> Call:
    return Call("calculator", json.dumps({"expression": expression}))


def _rate_limit_first(asked: CheckedRequest) -> Script:
    """Turns the first attempt away; a caller who does not count attempts, in the even seconds of the clock."""
    first = int(time.time()) % 2 == 0 if asked.attempt is None else asked.attempt < 2
    if first:
        raise errors.rate_limited(asked.model, _RETRY_AFTER)
    return Script(fixed(texts.FLAKY))


def _rate_limit(asked: CheckedRequest) -> Script:
    raise errors.rate_limited(asked.model)


def _malformed_first(asked: CheckedRequest) -> Script:
    """A call whose arguments are no JSON, and a good one once the model is told so."""
    if asked.results or not asked.tools or texts.MALFORMED_NOTICE in asked.guidance.lower():
        return long_call(asked)
    return Script(fixed(""), (Call(called_tool(asked), texts.MALFORMED_ARGUMENTS),), Ending.MALFORMED)


def _pause_once(asked: CheckedRequest) -> Script:
    """Stops for a search of the provider's own, and goes on when what it left is sent back."""
    if len(asked.said) > len(texts.PAUSED):
        return Script(fixed(texts.PAUSED + texts.RESUMED))
    if asked.resumed:
        return Script(fixed(texts.RESUMED))  # nothing is repeated after a pause: it is no cut
    return Script(fixed(texts.PAUSED), ending=Ending.PAUSED)


def _violating_first(asked: CheckedRequest) -> Script:
    """JSON that no schema of a report allows, and a report once the system prompt says what was wrong."""
    corrected = texts.SCHEMA_NOTICE in asked.guidance.lower()
    return Script(fixed(texts.REPORT if corrected else texts.VIOLATION))


def _hang_up(asked: CheckedRequest) -> Script:
    return Script(fixed(texts.ESSAY), hangs_up=not asked.said)


def _json_if_asked(asked: CheckedRequest) -> Script:
    return Script(fixed(texts.REPORT if asked.wants_json else texts.NO_JSON))


_ESSAY = Script(fixed(texts.ESSAY))

MODELS: Mapping[str, Behaviour] = {
    "sim-essay": Behaviour(_always(_ESSAY)),
    "sim-slow": Behaviour(_always(_ESSAY), token_ms=40),
    "sim-endless": Behaviour(_always(Script(rest_of_list))),
    "sim-tools": Behaviour(_two_calls),
    "sim-cut-tool": Behaviour(long_call),
    **{name: Behaviour(cut_call(form), needs=form.ending if form.needed else None) for name, form in CUT_FORMS.items()},
    "sim-refuse": Behaviour(_always(Script(fixed(texts.REFUSED), ending=Ending.FILTERED, withheld=True))),
    "sim-refusal": Behaviour(_always(Script(fixed(texts.REFUSAL), ending=Ending.REFUSED))),
    "sim-flaky": Behaviour(_rate_limit_first),
    "sim-hangup": Behaviour(_hang_up),
    "sim-odd": Behaviour(_always(Script(fixed(texts.ODD), ending=Ending.ODD))),
    "sim-empty": Behaviour(_always(Script(fixed("")))),
    "sim-script": Behaviour(_always(Script(fixed(texts.SCRIPT)))),
    "sim-json": Behaviour(_json_if_asked),
    "sim-prose-json": Behaviour(_always(Script(fixed(texts.PROSE_AND_JSON)))),
    "sim-schema": Behaviour(_violating_first),
    "sim-malformed": Behaviour(_malformed_first),
    "sim-context": Behaviour(_always(Script(fixed(texts.OUT_OF_CONTEXT), ending=Ending.CONTEXT))),
    "sim-blocked": Behaviour(_always(Script(fixed(""), ending=Ending.BLOCKED))),
    "sim-pause": Behaviour(_pause_once, needs=Ending.PAUSED),
    "sim-no-reason": Behaviour(_always(Script(fixed(texts.ODD), ending=Ending.MISSING))),
    "sim-429": Behaviour(_rate_limit),
    "sim-500": Behaviour(_refusing(errors.broken_server)),
    "sim-overloaded": Behaviour(_refusing(errors.overloaded)),
    "sim-timeout": Behaviour(_always(Silence())),
    "sim-html": Behaviour(_always(Reply(200, texts.HTML_PAGE, "text/html; charset=utf-8"))),
    **SERVERS,
}


def provider_shown(provider: str, model: str) -> str:
    """What pages and logs call the provider of a turn: the simulator speaks the dialects of others."""
    return SIMULATOR if model in MODELS else provider
