"""Visits to real servers, over both transports, also to such as are slow, long-winded, or killed in the middle."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from agentcore.errors import ErrorType
from agentcore.messages import ToolCall
from dashboard.tools.runner import run_tool
from dashboard.tools.services import mcp_server_look
from dashboard.tools.tool import TurnContext
from tests.dashboard.tools.calling import call, tool_of_server
from tests.dashboard.tools.conftest import OFFERING
from tests.dashboard.tools.visits import at, command, gone, pid_in

pytestmark = pytest.mark.django_db


def test_a_tool_of_a_server_is_called_and_its_text_returned(server):
    assert call(tool_of_server(server, "greet"), name="Ada").content == "Hello, Ada!"


def test_a_structured_result_is_json_and_not_repeated(server):
    content = call(tool_of_server(server, "weather"), city="Oslo").content
    assert content.count("Oslo") == 1
    assert content.count("degrees") == 1


def test_non_text_content_is_named_and_unstorable_characters_replaced(server):
    content = call(tool_of_server(server, "mixed")).content
    assert content.split("\n") == [
        "first",
        "[image, image/png, 3 bytes: it is not shown]",
        "[a link to file:///plan.txt: plan]",
        "nul \ufffd inside",
        '{"answer":42}',
    ]


def test_a_tool_that_reports_failure_gives_an_error_result_with_its_message(server):
    failed = call(tool_of_server(server, "fail"))
    assert failed.error is ErrorType.TOOL
    assert "the oven is cold" in failed.content


def test_a_missing_tool_and_invalid_arguments_are_error_results(server):
    assert call(tool_of_server(server, "nothing")).error is ErrorType.TOOL
    assert "city" in call(tool_of_server(server, "weather")).content


def test_a_very_long_result_is_shortened(server):
    content = call(tool_of_server(server, "babble"), characters=300_000).content
    assert len(content) < 21_000
    assert content.endswith("… cut: 20,000 of 300,000 characters are shown, 280,000 are not.")


def test_a_server_that_takes_too_long_is_given_up(server, tmp_path):
    server.timeout = 1.5
    began = time.monotonic()
    late = call(tool_of_server(server, "dawdle"))
    assert late.error is ErrorType.TIMEOUT
    assert "took longer than 1.5 s" in late.content
    assert time.monotonic() - began < 10


def test_every_tool_of_a_server_is_stored_with_its_annotations(server):
    look = mcp_server_look(server=server)
    assert (look.problem, list(look.left_out)) == ("", [])
    server.refresh_from_db()
    kept = {tool["name"]: tool for tool in server.tools}
    assert look.found == len(kept) == 10
    assert kept["weather"]["schema"]["required"] == ["city"]
    assert [name for name, tool in kept.items() if tool["idempotent"]] == ["greet", "weather"]
    assert server.refreshed_at is not None


def test_the_process_of_a_late_program_is_ended_even_if_it_ignores_signals(stdio_allowed, tmp_path):
    file = tmp_path / "pid"
    script = f"import os, time; open({str(file)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    assert call(tool_of_server(command("-c", script), "greet")).error is ErrorType.TIMEOUT
    assert gone(pid_in(file))


def test_a_cancelled_call_ends_the_programs_process(stdio_server, tmp_path):
    file = tmp_path / "pid"
    tool = tool_of_server(stdio_server, "dawdle")
    asked = ToolCall("c1", tool.spec.name, {"pid_file": str(file)})

    async def cancelled() -> None:
        running = asyncio.create_task(run_tool(asked, tool, TurnContext("t"), seconds_left=None))
        await asyncio.to_thread(pid_in, file)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(cancelled())
    assert gone(pid_in(file))


def test_a_program_that_exits_during_a_call_is_an_error_result(stdio_server):
    died = call(tool_of_server(stdio_server, "die"))
    assert died.error is ErrorType.TOOL
    assert "ended before it answered" in died.content


def test_a_program_killed_during_a_call_is_an_error_result(stdio_server, tmp_path):
    file = tmp_path / "pid"
    killer = threading.Thread(target=lambda: os.kill(pid_in(file), signal.SIGKILL))
    killer.start()
    assert "ended before it answered" in call(tool_of_server(stdio_server, "dawdle"), pid_file=str(file)).content
    killer.join()


@pytest.fixture
def process() -> Iterator[str]:
    """The address of a server in a process of its own, which is handed its socket: nobody else can take the port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port, number = listener.getsockname()[1], listener.fileno()
        arguments = [sys.executable, "-P", str(OFFERING), "http", str(number)]
        running = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=[number])
    with running:
        yield f"http://127.0.0.1:{port}/mcp"
        running.kill()


def test_a_server_killed_during_a_call_is_an_error_result(process, tmp_path):
    file = tmp_path / "pid"
    killer = threading.Thread(target=lambda: os.kill(pid_in(file), signal.SIGKILL))
    killer.start()
    began = time.monotonic()
    died = call(tool_of_server(at(process, timeout=30.0), "dawdle"), pid_file=str(file))
    killer.join()
    assert died.error is not None
    assert "MCP server “rogue”" in died.content
    assert time.monotonic() - began < 25


def test_a_program_that_ignores_signals_ends_with_its_client_process(tmp_path):
    file = tmp_path / "pid"
    stubborn = f"import os, time; open({str(file)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    script = (
        "import asyncio, django, pathlib, sys, time; django.setup()\n"
        "from dashboard.tools.mcp import session\n"
        "from dashboard.tools.mcp.servers import Server\n"
        f"server = Server('s', 'stdio', '', sys.executable, ('-c', {stubborn!r}), '', '', 60.0, True)\n"
        "session._Visit(server, session._list, 60.0).begin()\n"
        f"while not pathlib.Path({str(file)!r}).exists(): time.sleep(0.02)\n"
    )
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "dashboard.settings"}
    subprocess.run([sys.executable, "-c", script], env=environment, timeout=120, check=True)
    assert gone(pid_in(file))
