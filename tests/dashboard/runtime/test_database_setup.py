"""What is typed in a terminal may be the first that is asked of a data folder."""

import subprocess
import sys

import pytest

from .conftest import CHECKOUT, PATIENCE

TURN = "01a1fbed-aba8-7701-99d1-643edbe4f3e2"
#: What is typed, and how its last line begins.
TYPED = {
    ("sign_in_link",): "http://127.0.0.1:",
    ("set_password",): "The password of “operator” is set.",
    ("replay", TURN): f"CommandError: There is no turn {TURN}. ",
    ("backtest",): "A backtest over 0 turns: it found none.",
}


@pytest.mark.nightly
def test_commands_run_simultaneously_before_the_first_start_answer_in_a_sentence(environment: dict[str, str]):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    running = {
        words: subprocess.Popen(
            [sys.executable, "manage.py", *words], cwd=CHECKOUT, env=environment, text=True, **pipes
        )
        for words in TYPED
    }
    for words, process in running.items():
        said, _ = process.communicate("a long enough sentence\n", timeout=PATIENCE)
        assert said.startswith(TYPED[words]), said
        assert len(said.splitlines()) == 1
