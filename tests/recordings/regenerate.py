"""Writes the golden recordings: `python -m tests.recordings.regenerate [name …]`.

A golden recording must verify for ever, so an existing one is rewritten only when it is named: that is a decision to
judge differently from now on, and `agentcore.VERSION` goes up with it.
"""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from agentcore import ErrorPolicy, ErrorType, Policy, Recording, recording_from_json, recording_to_json
from agentcore.events import Approvals, Breakpoint, ChangedCall, OperatorAction
from tests.agentcore.machine.test_error_context import Raises
from tests.agentcore.playbook import (
    Playbook,
    call,
    called,
    cancelled,
    cut_call,
    ended,
    error,
    interrupted,
    operator,
    paused,
    released,
    requires,
    said,
    stand_in,
    started,
    tool_failed,
    tools_returned,
    truncated,
    unknown,
    woke_up,
)

HERE = Path(__file__).parent
SCHEMA = {"type": "object", "required": ["answer"]}


def _retrying() -> Playbook:
    return Playbook(error_policy=ErrorPolicy.retry_all()) >> started()


GOLDEN: Mapping[str, Callable[[], Playbook]] = {
    "continued_and_completed": lambda: (
        Playbook() >> started() >> truncated("one ") >> truncated("two ") >> ended("three")
    ),
    "given_up": lambda: Playbook(max_continuations=1) >> started() >> truncated("one ") >> truncated("two "),
    "budget_exhausted": lambda: Playbook(max_total_completion_tokens=60) >> started() >> truncated("one", tokens=60),
    "output_cap": lambda: Playbook(max_total_output_chars=3) >> started() >> ended("abcdef"),
    "tools": lambda: _retrying() >> called(call(), call("nope", "b")) >> tools_returned() >> ended("two"),
    "tools_lenient": lambda: (
        Playbook(error_policy=ErrorPolicy.ignore_tool_errors())
        >> started()
        >> called(call())
        >> tools_returned(tool_failed())
        >> ended("sorry")
    ),
    "call_repaired": lambda: (
        Playbook() >> started() >> cut_call("let me ") >> called(call()) >> tools_returned() >> ended("2")
    ),
    "call_not_repaired": lambda: Playbook() >> started() >> cut_call("let me ") >> cut_call(),
    "retried": lambda: (
        _retrying()
        >> error(ErrorType.RATE_LIMIT, retry_after=2.0)
        >> woke_up()
        >> error(partial="half ")
        >> woke_up()
        >> ended("done")
    ),
    "failed": lambda: Playbook() >> started() >> error(kind="auth", retryable=False),
    "error_word": lambda: Playbook() >> started() >> unknown("network_error", "half"),
    "paused": lambda: Playbook() >> started() >> paused("one ") >> ended("two"),
    "taken_over": lambda: Playbook() >> started() >> interrupted("half ") >> ended("done"),
    "cancelled": lambda: Playbook() >> started() >> truncated("one ") >> cancelled("two"),
    "held": lambda: (
        Playbook(max_continuations=0)
        >> started(breakpoints=(Breakpoint(state="continue_pending"),))
        >> truncated("one ")
        >> operator(error_policy={"on_model_error": "retry", "max_retries": 2})
        >> released(limits={"max_continuations": 1})
        >> ended("two")
    ),
    "operated": lambda: (
        Playbook(max_continuations=1)
        >> started(breakpoints=(Breakpoint(state="continue_pending", budget_below=0.5),))
        >> truncated("one ")
        >> truncated("two ")
        >> operator(answer=said("three"))
        >> released(limits={"max_continuations": 2}, run_to="evaluate_stop")
        >> stand_in
        >> released()
    ),
    "approved": lambda: (
        Playbook(error_policy=ErrorPolicy.ignore_tool_errors(), approvals=Approvals(("calculator",), 30.0))
        >> started()
        >> called(call(), call("clock", "b"))
        >> released(tool_call=ChangedCall("a", {"expression": "2+2"}))
        >> tools_returned()
        >> called(call(id="c"))
        >> operator(OperatorAction.REFUSE)
        >> tools_returned()
        >> ended("four")
    ),
    "envelope_truncated": lambda: (
        Playbook(envelope_schema=SCHEMA) >> started() >> truncated('{"ans') >> ended('{"answer": 1}')
    ),
    "watched_envelope": lambda: (
        Playbook(watched=True, max_continuations=0, schema_rounds=0, envelope_schema=SCHEMA)
        >> started()
        >> truncated('{"answer": ', tokens=60)
    ),
    "watched_cut": lambda: Playbook(watched=True, max_continuations=0) >> started() >> truncated("half", tokens=60),
    "cut_below_the_cap": lambda: (
        Playbook(max_tokens=4000, max_continuations=0) >> started() >> truncated("a", tokens=482)
    ),
    "seam_kept": lambda: (
        Playbook() >> started() >> truncated("0, 0, 0, 0, 0, 0, 0, 0, ") >> ended("0, 0, 0, 0, 0, 0, 0, 0, 1]")
    ),
    "repetition_broken_off": lambda: (
        Playbook()
        >> started()
        >> truncated('"x","north",0\n"y","south",0\n"x')
        >> truncated('x","north",0\n"y","south",0\n"x"')
        >> ended(",1")
    ),
    "retry_within_the_total": lambda: (
        Playbook(max_total_completion_tokens=100, error_policy=ErrorPolicy.retry_all())
        >> started()
        >> error(partial="half ", tokens=60)
        >> woke_up()
        >> ended("done")
    ),
    "resolver_failed": lambda: (
        Playbook(error_policy=ErrorPolicy.retry_all(), resolver=Raises()) >> started() >> error()
    ),
    "envelope_violated": lambda: Playbook(envelope_schema=SCHEMA) >> started() >> ended("{}") >> ended('{"answer": 1}'),
    "envelope_exhausted": lambda: (
        Playbook(envelope_schema=SCHEMA, schema_rounds=1) >> started() >> ended("{}") >> ended("?")
    ),
}


def write_recording(path: Path, recording: Recording) -> None:
    """One JSON file: the policy, and each record as it is stored."""
    path.write_text(json.dumps(recording_to_json(recording), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_recording(path: Path) -> Recording:
    return recording_from_json(json.loads(path.read_text(encoding="utf-8")), Policy(validate=requires))


def _diverging() -> Recording:
    """A true history but for one word: its third record claims another reason."""
    recording = GOLDEN["continued_and_completed"]().recording
    third = recording.records[2]
    lie = [{**transition, "reason": "because"} for transition in third.transitions]
    return replace(
        recording, records=(*recording.records[:2], replace(third, transitions=tuple(lie)), *recording.records[3:])
    )


def main(named: list[str]) -> None:
    made = {**{name: story().recording for name, story in GOLDEN.items()}, "meant_to_diverge": _diverging()}
    for name, recording in made.items():
        path = HERE / f"{name}.json"
        if name in named or not path.exists():
            write_recording(path, recording)


if __name__ == "__main__":
    main(sys.argv[1:])
