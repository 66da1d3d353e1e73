"""What `whystop` says where there is nothing to be had, and what it is made of."""

import io
import os
import subprocess
import sys
import tomllib
from dataclasses import fields
from importlib import import_module
from pathlib import Path

import pytest

from agentcore.policy import Limits
from agentcore.reasons import TurnStatus
from agentcore.states import Trigger
from dashboard.client import Draft, Record, __main__, command_line, exit_codes, narration
from dashboard.client.narration import TurnNarration
from dashboard.client.output import AsLines
from dashboard.client.turn import ENDED
from dashboard.client.values import LIMITS
from tests.together import together

CHECKOUT = Path(__file__).parents[3]


def whystop(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    bare = {name: value for name, value in os.environ.items() if not name.startswith("WHYSTOP_")}
    command = [sys.executable, "-m", "dashboard.client", *words]
    return subprocess.run(
        command, cwd=CHECKOUT, env={**bare, **environment}, capture_output=True, text=True, timeout=60, check=False
    )


@together
@pytest.mark.parametrize(
    ("words", "environment", "code", "sentence"),
    [
        (["list"], {}, 1, "Set WHYSTOP_TOKEN to an API token"),
        (["list"], {"WHYSTOP_TOKEN": "two words"}, 1, "The token must be printable ASCII"),
        (["--url", "nowhere", "list"], {"WHYSTOP_TOKEN": "x"}, 1, "The address must be like http://127.0.0.1:8321"),
        (["list"], {"WHYSTOP_TOKEN": "x", "WHYSTOP_URL": "http://127.0.0.1:1"}, 1, "Whystop does not answer at"),
        (["--url", "http://127.0.0.1:abc", "list"], {"WHYSTOP_TOKEN": "x"}, 1, "must be like http://127.0.0.1:8321"),
        (["start", "a", "b", "--break", "state"], {}, 2, "state: write it as state=continue_pending"),
        (["start", "a", "b", "--break", "budget_below=little"], {}, 2, "little: it must be a number"),
        (["start", "a", "b", "--max-seconds", "nan"], {}, 2, "nan: it must be a number"),
        (["list", "--most", "-1"], {}, 2, "-1: it must be a whole number"),
        (["jump"], {}, 2, "invalid choice: 'jump'"),
        ([], {}, 2, "COMMAND"),
    ],
)
def test_an_impossible_command_is_explained_in_a_sentence(words, environment, code, sentence):
    ran = whystop(*words, **environment)
    assert (ran.returncode, ran.stdout) == (code, "")
    assert sentence in ran.stderr
    assert "Traceback" not in ran.stderr


def test_every_argument_of_every_command_is_explained():
    commands = next(action for action in command_line._parser()._actions if action.dest == "command")
    unexplained = [
        (name, action.dest)
        for name, parser in commands.choices.items()
        for action in parser._actions
        if not action.help
    ]
    assert unexplained == []


def test_a_breakpoint_may_be_set_on_any_budget_below_a_share():
    asked = command_line._parser().parse_args(["start", "a", "b", "--break", "budget_below=0.1", "--break", "tool=t"])
    assert asked.breakpoints == [{"budget_below": 0.1}, {"tool": "t"}]


def test_every_limit_of_a_policy_is_accepted():
    kinds = {limit.name: float if "float" in str(limit.type) else int for limit in fields(Limits)}
    assert kinds == {limit: kind for limit, (kind, _) in LIMITS.items()}
    assert narration.NATURAL_END == Trigger.END_TURN


def test_the_package_names_its_command_and_declares_that_it_is_typed():
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())
    module, _, function = project["project"]["scripts"]["whystop"].partition(":")
    assert getattr(import_module(module), function) is __main__.main
    assert (CHECKOUT / "dashboard" / "py.typed").exists()
    assert (CHECKOUT / "agentcore" / "py.typed").exists()


def test_every_ending_of_a_turn_has_its_own_exit_code():
    watched = {*ENDED, "held"}
    assert watched == {*TurnStatus} - {"queued", "running"}
    assert exit_codes.OUTCOMES.keys() == watched
    codes = list(exit_codes.OUTCOMES.values())
    assert len({*codes}) == len(codes)
    assert not {*codes} & {exit_codes.WRONG, 2, exit_codes.STOPPED}


def test_streamed_text_is_not_repeated_by_its_record_and_other_text_is_printed():
    out = io.StringIO()
    lines = AsLines(out)
    answered = {"type": "model_responded", "response": {"text": "one two three", "stop_reason": "end_turn"}}
    lines.told(Draft(1, 0, "one "))
    lines.told(Draft(1, 4, "two"))
    lines.told(Record(2, "", answered, [], {"type": "none"}, []))
    assert out.getvalue() == "one two three\n[LLM] Response stop_reason: end_turn (no stop reason given)\n"


def test_late_text_is_printed_with_the_ending():
    out = io.StringIO()
    late = {"action": "release", "by": "ada", "asked_at": "", "why": "The turn had ended before: it is cancelled."}
    TurnNarration(out).over({"status": "cancelled", "notice": "", "verdict": "Cancelled by ben.", "not_done": [late]})
    assert out.getvalue() == (
        "[NOT DONE] ada: release. The turn had ended before: it is cancelled.\nCancelled by ben.\n"
    )


@together
@pytest.mark.parametrize("odd", ["\x1b[2J", "\x07", "\r", "\x9b", "\x7f", "\x00"])
def test_model_output_cannot_control_the_terminal(odd: str):
    out = io.StringIO()
    lines = TurnNarration(out)
    lines.said(f"a{odd}b\tc\nd")
    lines.line(f"e{odd}f")
    assert not any(
        (ord(character) < 32 and character not in "\t\n") or 127 <= ord(character) < 160 for character in out.getvalue()
    )
    assert out.getvalue().endswith("f\n")
