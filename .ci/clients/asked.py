"""What every client asks and expects, and how a client's checks are run. Standard library only.

The agents are made by `run.py`; their models are the simulator's, which is asked over HTTP as any provider would be.
"""

import sys
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from dashboard.simulator import texts

_Error = TypeVar("_Error", bound=Exception)

QUESTION = "Why do agents stop?"
ESSAY = texts.ESSAY  #: what `CONTINUED` says when nothing cuts it
REPORT = texts.REPORT
CAP = 60  #: tokens: the essay is several times longer

CONTINUED = "writer"  #: an agent whose cut answers are continued
OBSERVED = "watched-writer"  #: the same model, and every answer goes through as it is
CALLING = "calculating"  #: calls the calculator twice at once, then says what it returned
REPORTING = "reporter"  #: answers with a report where JSON is wanted
OBSERVED_REPORT = "watched-reporter"
LIMITED = "limited"  #: always turned away
WAIT = 7  #: seconds that `LIMITED` is told to wait
DIRECT = "simulator/sim-essay"  #: a model by its connection, without an agent
CLAUDE = "claude-writer"  #: an agent whose upstream speaks Anthropic's dialect
WATCHED_CLAUDE = "watched-claude-writer"
ITEMS = "items-writer"  #: an agent whose upstream speaks the dialect of OpenAI's responses
WATCHED_ITEMS = "watched-items-writer"
GEMINI = "gemini-writer"  #: an agent whose upstream speaks the dialect of Google's Gemini API
WATCHED_GEMINI = "watched-gemini-writer"
AGENTS = {CONTINUED, OBSERVED, CALLING, REPORTING, OBSERVED_REPORT, LIMITED}

CALCULATOR: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "calculator",
        "description": "Works out an expression.",
        "parameters": {
            "type": "object",
            "properties": {"expression": {"type": "string"}},
            "required": ["expression"],
        },
    },
}
#: What `CALLING` asks the calculator, and what that answers.
SUMS: Mapping[str, str] = {"6 * 7": "42", "2 ** 10": "1024"}
SUMMED = "Both numbers are in. The tools returned: 42; 1024."


def raised(kind: type[_Error], asking: Callable[[], object]) -> _Error:
    """The error of this kind that asking raises; it is a failure if it does not."""
    try:
        asking()
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__} was raised")


def run_checks(checks: Mapping[str, object]) -> None:
    """Runs every function named `check_…`, says how each went, and ends the program: 1 if any failed."""
    failed = 0
    for name, check in checks.items():
        if name.startswith("check_") and callable(check):
            failed += not _passes(name, check)
    sys.exit(1 if failed else 0)


def _passes(name: str, check: Callable[[], object]) -> bool:
    began = time.monotonic()
    try:
        check()
    except Exception:
        sys.stdout.write(f"  FAILED {name}\n{traceback.format_exc()}\n")
        return False
    sys.stdout.write(f"  {name.removeprefix('check_')} ({time.monotonic() - began:.2f} s)\n")
    return True
