"""`manage.py ask` as a person meets it: a turn in the terminal, with or without a server running."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from dashboard.simulator.texts import ESSAY
from tests import forked_start

from .conftest import CHECKOUT, PATIENCE


@pytest.fixture
def ask(environment: dict[str, str], started_before: None):
    return asking(environment)


# A port of this process alone, and none that the system gives to others: any time may a simulator of somebody else be
# killed.
@pytest.fixture
def environment(environment: dict[str, str]) -> dict[str, str]:
    return {**environment, "WHYSTOP_SIMULATOR_PORT": str(20_000 + os.getpid() % 10_000)}


def asking(environment: dict[str, str]):
    environment = {**environment, "WHYSTOP_SIM_TOKEN_MS": "0"}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return forked_start.run(["ask", *words], env=environment, timeout=PATIENCE, **forked_start.BOTH)

    return run


@pytest.mark.nightly
def test_a_turn_is_printed_line_by_line_with_its_text_and_verdict_without_a_running_server(environment):
    done = asking(environment)("Why do agents stop?", "--max-tokens", "150")
    assert (done.returncode, done.stderr) == (0, "")
    assert "[THINK] Call 1 of sim-essay: initial, 150 tokens" in done.stdout
    assert "[LLM] Response stop_reason: max_tokens (provider said “length”)" in done.stdout
    assert "[THINK] Call 2 of sim-essay: continuation, 150 tokens" in done.stdout
    verdict, limit = done.stdout.splitlines()[-2:]
    assert verdict.startswith("Completed after 2 continuations.")
    assert limit.startswith("[LIMIT] ")
    assert ESSAY.split("\n")[-1][-60:] in done.stdout


@pytest.mark.nightly
def test_the_basis_of_the_verdict_is_printed_before_it(ask):
    told = ask("Why do agents stop?", "--max-tokens", "60").stdout
    tree = told[told.index("[WHY] ended: complete, with status partial and terminal reason retry_limit") :].splitlines()
    assert tree[2].endswith("because: The rules for truncated answers forbade another call: 3 of 3 continuations used")
    assert tree[3].endswith("under: Max continuations (max_continuations) is 3, the default")
    assert "provider: said “length”, in finish_reason" in told
    assert tree[-2].startswith("Cut off 4 times by Max tokens per call (max_tokens)")
    assert tree[-1].startswith("[LIMIT] ")


@pytest.mark.nightly
def test_tools_are_printed_as_act_and_observe(ask):
    told = ask("Calculate.", "--agent", "sim-tools").stdout
    assert '[ACT] Executing tool: calculator {"expression": "6 * 7"}' in told
    assert "[OBSERVE] Result preview: 42 (calculator)" in told


def test_programs_get_one_json_object_per_line(ask):
    lines = [json.loads(line) for line in ask("Why?", "--agent", "sim-refuse", "--json").stdout.splitlines()]
    assert [list(line) for line in lines] == [["record"], ["record"], ["why"], ["turn"]]
    assert lines[2]["why"]["tree"]["because"][0]["words"] == "evaluate_stop → abort, trigger safety_blocked"
    assert lines[-1]["turn"]["terminal_reason"] == "safety_blocked"
    times = [*(line["record"]["at"] for line in lines[:2]), lines[-1]["turn"]["finished_at"]]
    assert all(re.fullmatch(r"[0-9-]{10}T[0-9:.]{12}Z", time) for time in times), "as the API writes them"


@pytest.mark.nightly  # a process for each sentence; what may be asked, the forms and the API ask too
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((" ",), "it must not be empty"),
        (("hi", "--agent", "nobody"), "There is no agent “nobody”; there are"),
    ],
)
def test_an_impossible_request_is_explained_in_a_sentence(ask, words, sentence):
    done = ask(*words)
    assert done.returncode == 1
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_ctrl_c_cancels_the_turn_and_keeps_its_text(environment, started_before):
    command = [sys.executable, "manage.py", "ask", "Go on.", "--agent", "sim-endless"]
    with forked_start.Popen(command, cwd=CHECKOUT, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("[THINK]")
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        told = process.communicate(timeout=PATIENCE)[0]
    assert process.returncode == 1
    assert "[NOTICE] This turn was cancelled by the terminal." in told


@pytest.mark.nightly
@pytest.mark.parametrize("words", [["ask", "Why do agents stop?"], ["ask", "Why?", "--json"], ["help"]])
def test_a_closed_pipe_is_no_error_and_gives_the_usual_exit_code(environment, started_before, words):
    unread, printed = os.pipe()
    os.close(unread)
    command = [sys.executable, "manage.py", *words]
    environment = {**environment, "WHYSTOP_SIM_TOKEN_MS": "0"}
    done = subprocess.run(
        command, cwd=CHECKOUT, env=environment, stdout=printed, stderr=subprocess.PIPE, text=True, timeout=PATIENCE
    )
    os.close(printed)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")
