"""The models: what each name does. `MODELS` is the whole list."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dashboard.simulator import texts
from dashboard.simulator.asked import Asked
from dashboard.simulator.endless import rest_of_list
from dashboard.simulator.errors import Reply, rate_limited
from dashboard.simulator.speaking import Call, Script, fixed

_LONGEST_QUOTE = 200  #: characters of a tool's result
_RETRY_AFTER = 1  #: seconds


@dataclass(frozen=True, slots=True)
class Behaviour:
    """One model. `script` may give a `Reply` instead, which is sent as it is, and may raise `RequestError`.

    `token_ms`: its own pace; `None` for the simulator's.
    """

    script: Callable[[Asked], Script | Reply]
    token_ms: float | None = None


def _always(script: Script | Reply) -> Callable[[Asked], Script | Reply]:
    return lambda _asked: script


def _two_calls(asked: Asked) -> Script:
    if asked.results:
        quoted = "; ".join(result[:_LONGEST_QUOTE] for result in asked.results)
        return Script(fixed(f"Both numbers are in. The tools returned: {quoted}."))
    if "calculator" in asked.tools:
        return _calling(texts.TOOLS_INTRO, _calculation("6 * 7"), _calculation("2 ** 10"))
    if asked.tools:
        return _calling(texts.TOOLS_INTRO, Call(asked.tools[0], "{}"))
    return Script(fixed(texts.NO_TOOLS))


def _long_call(asked: Asked) -> Script:
    if asked.results:
        return Script(fixed(f"The sum comes to {asked.results[-1][:_LONGEST_QUOTE]}."))
    if not asked.tools:
        return Script(fixed(texts.NO_TOOLS))
    name = "calculator" if "calculator" in asked.tools else asked.tools[0]
    return _calling("", Call(name, _calculation(texts.LONG_EXPRESSION).arguments))


def _calling(intro: str, *calls: Call) -> Script:
    return Script(fixed(intro), calls, "tool_calls")


def _calculation(expression: str) -> Call:
    return Call("calculator", json.dumps({"expression": expression}))


def _rate_limit_first(asked: Asked) -> Script:
    """Turns the first attempt away; a caller who does not count attempts, in the even seconds of the clock."""
    first = int(time.time()) % 2 == 0 if asked.attempt is None else asked.attempt < 2
    if first:
        raise rate_limited(asked.model, _RETRY_AFTER)
    return Script(fixed(texts.FLAKY))


def _hang_up(asked: Asked) -> Script:
    return Script(fixed(texts.ESSAY), hangs_up=not asked.said)


def _json_if_asked(asked: Asked) -> Script:
    return Script(fixed(texts.REPORT if asked.wants_json else texts.NO_JSON))


_ESSAY = Script(fixed(texts.ESSAY))

MODELS: Mapping[str, Behaviour] = {
    "sim-essay": Behaviour(_always(_ESSAY)),
    "sim-slow": Behaviour(_always(_ESSAY), token_ms=40),
    "sim-endless": Behaviour(_always(Script(rest_of_list))),
    "sim-tools": Behaviour(_two_calls),
    "sim-cut-tool": Behaviour(_long_call),
    "sim-refuse": Behaviour(_always(Script(fixed(texts.REFUSED), ending="content_filter", withheld=True))),
    "sim-flaky": Behaviour(_rate_limit_first),
    "sim-hangup": Behaviour(_hang_up),
    "sim-odd": Behaviour(_always(Script(fixed(texts.ODD), ending="solar_flare"))),
    "sim-empty": Behaviour(_always(Script(fixed("")))),
    "sim-script": Behaviour(_always(Script(fixed(texts.SCRIPT)))),
    "sim-json": Behaviour(_json_if_asked),
    "sim-html": Behaviour(_always(Reply(200, texts.HTML_PAGE, "text/html; charset=utf-8"))),
}
