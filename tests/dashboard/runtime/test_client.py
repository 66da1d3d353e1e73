"""The client and the command line as their users meet them: a server of its own, which may be killed."""

import http.client
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing

import pytest

from dashboard.client import Draft, End, Message, Record, Whystop
from dashboard.simulator.texts import ESSAY

from .conftest import CHECKOUT, PATIENCE, Up

Start = Callable[..., Up]
TOKEN = "a-token-of-24-characters-or-more"


@pytest.fixture
def start(up: Start, started_before: None) -> Callable[..., tuple[Up, str]]:
    def started(**more: str) -> tuple[Up, str]:
        server = up(WHYSTOP_BOOTSTRAP_TOKEN=TOKEN, **more)
        return server, server.address()

    return started


def run(address: str, *words: str, **more: object) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "WHYSTOP_URL": address, "WHYSTOP_TOKEN": TOKEN}
    command = [sys.executable, *words]
    return subprocess.run(
        command, cwd=CHECKOUT, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False, **more
    )


@pytest.mark.nightly
def test_a_watch_continues_through_kill_9_and_a_restart(start):
    server, address = start(WHYSTOP_SIM_TOKEN_MS="15")
    port = address.rpartition(":")[2]
    turn = Whystop(address, TOKEN).start("sim-essay", "kill me", max_tokens=150)
    told: list[Message] = []
    for message in turn.watch(seconds=PATIENCE):
        told.append(message)
        if isinstance(message, Draft) and message.attempt == 2 and server is not None:
            server.kill()
            server = None
            start(WHYSTOP_SIM_TOKEN_MS="0", WHYSTOP_PORT=port)
    end = told[-1]
    assert isinstance(end, End)
    assert (end.turn.status, end.turn.output_text) == ("completed", ESSAY)
    records = [message for message in told if isinstance(message, Record)]
    assert records == turn.records()
    assert [record.event["type"] for record in records].count("interrupted") == 1
    drafted = dict.fromkeys((d.attempt for d in told if isinstance(d, Draft)), "")
    for draft in (message for message in told if isinstance(message, Draft)):
        assert draft.offset == len(drafted[draft.attempt])
        drafted[draft.attempt] += draft.text


@pytest.mark.nightly
def test_streams_end_when_the_server_stops(start):
    """To the last chunk: one that the server had to cut would be left without it."""
    server, address = start()
    turn = Whystop(address, TOKEN).start("sim-essay", "hello", max_tokens=60, breakpoints=[{"state": "evaluate_stop"}])
    assert turn.wait(seconds=PATIENCE).status == "held"
    connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=PATIENCE)
    connection.request("GET", f"/api/v1/turns/{turn.id}/events", headers={"Authorization": f"Bearer {TOKEN}"})
    with closing(connection), connection.getresponse() as stream:
        assert stream.readline() == b"retry: 1000\n"
        assert server.stop() == (0, "", "")
        assert b"event: record" in stream.read()


class Cli:
    """`whystop` at one server."""

    def __init__(self, address: str) -> None:
        self.address = address

    def __call__(self, *words: str) -> tuple[int, str]:
        ran = run(self.address, "-m", "dashboard.client", *words)
        assert "Traceback" not in ran.stderr
        return ran.returncode, ran.stdout or ran.stderr


def test_a_turn_is_started_held_changed_and_ended_from_the_command_line(start):
    server, address = start(WHYSTOP_SIM_TOKEN_MS="0")
    cli = Cli(address)
    words = ["start", "sim-essay", "Why?", "--max-tokens", "60", "--break", "state=continue_pending", "--until-held"]
    code, lines = cli(*words)
    assert (code, lines.splitlines()[-1]) == (8, "[HELD] Waiting for an operator")
    turn = re.search(r"\[TURN\] (\S+)", lines)[1]
    assert cli("list", "--status", "held")[1].startswith(turn)
    code, lines = cli("release", turn, "--max-continuations", "9", "--max-tokens", "400", "--until-held")
    assert code == 0, "no answer is cut any more"
    assert "[OPERATOR] bootstrap: release" in lines
    assert "[END] completed" in lines
    verdict, limit = lines.splitlines()[-2:]
    code, shown = cli("show", turn)
    assert (code, limit.startswith("[LIMIT] Likely. With Max tokens per call at 414")) == (0, True)
    assert shown == f"{turn}  completed    sim-essay  {verdict} Limit: max_tokens 414 (likely).\n{ESSAY}\n{limit}\n"
    code, lines = cli("watch", turn, "--json")
    assert (code, lines.count('{"record": '), lines.count('{"turn": ')) == (0, lines.count("\n") - 1, 1)
    assert cli("hold", turn) == (1, "This turn has ended already: it is completed.\n")
    assert cli("start", "sim-essay", "Why?", "--max-tokens", "60", "--max-continuations", "1", "--watch")[0] == 3
    assert cli("start", "sim-essay", "Why?", "--max-tokens", "0")[0] == 1
    assert cli("start", "sim-refuse", "Why?", "--watch")[0] == 5
    _ctrl_c_leaves_the_turn_running(cli)
    assert server.stop() == (0, "", "")


def _verdict(lines: str) -> str:
    return lines.splitlines()[-1]


def _ctrl_c_leaves_the_turn_running(cli: Cli) -> None:
    environment = {**os.environ, "WHYSTOP_URL": cli.address, "WHYSTOP_TOKEN": TOKEN}
    words = ["start", "sim-essay", "Why?", "--max-tokens", "60", "--break", "state=continue_pending", "--watch"]
    command = [sys.executable, "-m", "dashboard.client", *words]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=CHECKOUT, env=environment, **pipes) as watching:
        turn = re.search(r"\[TURN\] (\S+)", watching.stdout.readline())[1]
        while "[HELD]" not in watching.stdout.readline():
            pass
        watching.send_signal(signal.SIGINT)
        _, said = watching.communicate(timeout=PATIENCE)
    assert (watching.returncode, said.strip()) == (
        130,
        f"The turn continues to run. Watch it with: whystop watch {turn}; end it with: whystop cancel {turn}",
    )
    assert cli("cancel", turn)[0] == 0
    assert cli("watch", turn)[0] == 6
