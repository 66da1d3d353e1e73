"""A client for programs: start, watch, hold, step, change and await a turn.

    from whystop_client import Whystop  # in a clone, or beside the server: from dashboard.client import Whystop

    turn = Whystop("http://127.0.0.1:8321", token).start("sim-essay", "Why do agents stop?", max_tokens=60)
    for message in turn.watch():
        print(message)
    print(turn.wait().verdict)

It needs the standard library alone. `pip install ./dashboard/client` installs it without the server, as
`whystop_client` with the command `whystop`. Limits, breakpoints and the like are written as the API's bodies are
(`/api/v1/docs`). What can go wrong:

    WhystopError
    ├── Unreachable          no Whystop server answers at this address
    └── Refused              the server says no; `str()` is its sentence, `.status` and `.problem` tell more
        ├── Unauthorized     401, 403: the token
        ├── NotFound         404
        └── Conflict         409: the turn is not where this makes sense

whystop       the server: its turns, runs, policies
turn          one turn, and what can be done with it; `replay` from its recording, `why` its stop
values        what is sent and received, as typed values; `wire` sends and receives it
command_line  the command `whystop`; `output` is what it prints, `narration` a turn in lines, `terminal` keeps both from
              steering the terminal, `exit_codes` how it ends
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .replay import Assumption as Assumption
    from .replay import WhatIf as WhatIf
    from .turn import End as End
    from .turn import Message as Message
    from .turn import Turn as Turn
    from .values import Attempt as Attempt
    from .values import Changes as Changes
    from .values import Draft as Draft
    from .values import Overrides as Overrides
    from .values import Record as Record
    from .values import Suggestion as Suggestion
    from .why import Road as Road
    from .why import Step as Step
    from .why import Why as Why
    from .why import WhyNode as WhyNode
    from .whystop import Whystop as Whystop
    from .wire import Conflict as Conflict
    from .wire import NotFound as NotFound
    from .wire import Refused as Refused
    from .wire import Unauthorized as Unauthorized
    from .wire import Unreachable as Unreachable
    from .wire import WhystopError as WhystopError

_NAMES = {
    "replay": ["Assumption", "WhatIf"],
    "turn": ["End", "Message", "Turn"],
    "values": ["Attempt", "Changes", "Draft", "Overrides", "Record", "Suggestion"],
    "whystop": ["Whystop"],
    "why": ["Road", "Step", "Why", "WhyNode"],
    "wire": ["Conflict", "NotFound", "Refused", "Unauthorized", "Unreachable", "WhystopError"],
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}
__all__ = [*_MODULES]  # noqa: PLE0604 - the keys are strings


def __getattr__(name: str) -> Any:
    """A public name, loaded when it is used first: the command must catch Ctrl-C before anything else is loaded."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_MODULES[name]}", __name__), name)
