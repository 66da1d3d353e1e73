"""`whystop` on the command line: turns of a server that runs, started, watched and controlled from anywhere.

The address comes from WHYSTOP_URL, the token from WHYSTOP_TOKEN. It exits with the outcome of the turn it watched:
0 completed, 3 partial, 4 failed, 5 aborted, 6 cancelled, 7 interrupted, 8 held; 1 where something went wrong, said in
one sentence; 2 for words it does not know; 130 after Ctrl-C.
"""

import os
import sys
from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from math import isfinite
from typing import Any, NoReturn

from .exit_codes import OUTCOMES, STOPPED, WRONG
from .output import AsJson, AsLines, Output, say_that_it_goes_on
from .terminal import guard_streams
from .turn import Message, Turn
from .values import LIMITS, Record
from .whystop import Whystop
from .wire import WhystopError, found_again

ACTIONS = {
    "hold": "hold a turn",
    "step": "run one decision of a held turn",
    "release": "release a held turn",
    "refuse": "release a held turn and refuse the tool calls that wait for approval",
}
ARGUMENTS = {"agent": "the agent's name", "text": "the prompt", "id": "the turn's id"}
BREAKPOINTS = "state=continue_pending, trigger=…, stop_reason=…, tool=… or budget_below=0.1"
URL = "http://127.0.0.1:8321"
NO_TOKEN = "Set WHYSTOP_TOKEN to an API token. Create one on the account page."  # noqa: S105 - a sentence

Does = Callable[[Whystop, Namespace, Output], int]


def main(words: Sequence[str] | None = None) -> NoReturn:
    """Do what the words say, and exit."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")
    guard_streams()
    asked = _parser().parse_args(words)
    try:
        sys.exit(_done(asked))
    except (WhystopError, ValueError) as error:
        print(error, file=sys.stderr)  # noqa: T201
        sys.exit(WRONG)
    except KeyboardInterrupt:
        sys.exit(STOPPED)
    except BrokenPipeError:
        # Who read our lines has gone; nothing is left to be said, not even by Python at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(WRONG)


def _done(asked: Namespace) -> int:
    token = os.environ.get("WHYSTOP_TOKEN", "")
    if not token:
        raise WhystopError(NO_TOKEN)
    does: Does = asked.does
    return does(Whystop(asked.url, token), asked, AsJson(sys.stdout) if asked.json else AsLines(sys.stdout))


def _start(whystop: Whystop, asked: Namespace, output: Output) -> int:
    overrides: dict[str, Any] = {"limits": _limits(asked), "max_tokens": asked.max_tokens, "model": asked.model}
    given = {name: value for name, value in overrides.items() if value not in (None, {})}
    turn = whystop.start(asked.agent, asked.text, breakpoints=asked.breakpoints or (), **given)
    return _watched(turn, asked, output)


def _watch(whystop: Whystop, asked: Namespace, output: Output) -> int:
    asked.watch = True
    return _watched(whystop.turn(asked.id), asked, output)


def _watched(turn: Turn, asked: Namespace, output: Output) -> int:
    """What follows what was asked of the turn last, if that is wanted. Returns the exit code."""
    if not (asked.watch or asked.until_held):
        output.turn(turn)
        return 0
    output.watching(turn)
    try:
        for message in turn.watch(after=turn.acted):
            if (ended := output.told(message)) is not None:
                return OUTCOMES.get(ended.status, WRONG)
            if asked.until_held and _is_held_by(message, turn):
                return OUTCOMES["held"]
    except KeyboardInterrupt:
        say_that_it_goes_on(turn)
        raise
    return WRONG


def _is_held_by(message: Message, turn: Turn) -> bool:
    """Whether it is held by this record, and not by an earlier or a later one."""
    if not isinstance(message, Record) or message.command["type"] != "hold":
        return False
    status = found_again(turn.refreshed).status
    return status == "held" and not found_again(lambda: turn.records(after=message.seq))


def _act(whystop: Whystop, asked: Namespace, output: Output) -> int:
    given = {"limits": _limits(asked), "max_tokens": asked.max_tokens}
    changes: dict[str, Any] = {name: value for name, value in given.items() if value not in (None, {})}
    return _watched(whystop.turn(asked.id).act(asked.command, **changes), asked, output)


def _cancel(whystop: Whystop, asked: Namespace, output: Output) -> int:
    output.turn(whystop.turn(asked.id).cancel())
    return 0


def _show(whystop: Whystop, asked: Namespace, output: Output) -> int:
    output.shown(whystop.turn(asked.id))
    return 0


def _what_if(whystop: Whystop, asked: Namespace, output: Output) -> int:
    given = {"limits": _limits(asked), "max_tokens": asked.max_tokens}
    output.imagined(whystop.turn(asked.id).what_if(**{k: v for k, v in given.items() if v not in (None, {})}))
    return 0


def _list(whystop: Whystop, asked: Namespace, output: Output) -> int:
    filters = {name: value for name in ("status", "agent") if (value := getattr(asked, name))}
    for turn in islice(whystop.turns(**filters), asked.most):
        output.turn(turn)
    return 0


def _limits(asked: Namespace) -> Mapping[str, Any]:
    return {limit: value for limit in LIMITS if (value := getattr(asked, limit)) is not None}


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < len(text) < 10):
        raise ArgumentTypeError(f"{text}: it must be a whole number")
    return int(text)


def _number(text: str) -> float:
    """JSON has no other numbers than these."""
    with suppress(ValueError):
        if isfinite(number := float(text)):
            return number
    raise ArgumentTypeError(f"{text}: it must be a number")


def _breakpoint(text: str) -> dict[str, str | float]:
    """`state=continue_pending,tool=calculator`: all of it must match."""
    parts = [part.partition("=") for part in text.split(",")]
    if not all(name and equals and value for name, equals, value in parts):
        raise ArgumentTypeError(f"{text}: write it as {BREAKPOINTS}")
    return {name: _number(value) if name == "budget_below" else value for name, _, value in parts}


def _parser() -> ArgumentParser:
    parser = ArgumentParser("whystop", description="Start, watch and control turns on a Whystop server.")
    url = os.environ.get("WHYSTOP_URL") or URL
    one_a_line = "print one JSON object per line"
    parser.add_argument("--url", default=url, help=f"the server's address (WHYSTOP_URL; now {url})")
    parser.add_argument("--json", action="store_true", help=one_a_line)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, does: Does, words: str, *arguments: str) -> ArgumentParser:
        made = commands.add_parser(name, help=words, description=words)
        made.set_defaults(does=does)
        made.add_argument("--json", action="store_true", default=SUPPRESS, help=one_a_line)
        for argument in arguments:
            made.add_argument(argument, help=ARGUMENTS[argument])
        return made

    start = command("start", _start, "start a turn", "agent", "text")
    start.add_argument("--model", help="the model, instead of the agent's")
    start.add_argument(
        "--break",
        dest="breakpoints",
        action="append",
        type=_breakpoint,
        help=f"hold the turn where all of it matches: {BREAKPOINTS}; repeatable",
        metavar="state=…",
    )
    watch = command("watch", _watch, "watch a turn: its past events, then new ones", "id")
    acts = [command(name, _act, words, "id") for name, words in ACTIONS.items()]
    for watcher in (start, watch, *acts):
        watcher.add_argument("--until-held", action="store_true", help="watch the turn until it is held (exit code 8)")
    for changing in (start, *acts):
        changing.add_argument("--watch", action="store_true", help="watch the turn until it ends")
        _take_limits(changing)
    command("cancel", _cancel, "cancel a turn; text that has arrived is kept", "id")
    command("show", _show, "show the status of a turn and its answer", "id")
    imagining = command("what-if", _what_if, "evaluate a turn under other limits from its recording", "id")
    _take_limits(imagining)
    _take_filters(command("list", _list, "list turns, newest first"))
    return parser


def _take_filters(parser: ArgumentParser) -> None:
    parser.add_argument("--status", help="turns with this status: running, held, completed, …")
    parser.add_argument("--agent", help="turns of this agent")
    parser.add_argument("--most", type=_count, default=20, metavar="N", help="at most this many turns (default: 20)")


def _take_limits(parser: ArgumentParser) -> None:
    parser.add_argument("--max-tokens", type=int, metavar="N", help="most output tokens of one call")
    group = parser.add_argument_group("limits, counted over the whole turn")
    for limit, (kind, said) in LIMITS.items():
        group.add_argument(
            f"--{limit.replace('_', '-')}", type=_number if kind is float else int, metavar="N", help=said
        )
