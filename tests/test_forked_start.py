"""A command that was split from a process with all modules loaded behaves as one that was started."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests import first_start, forked_start
from tests.first_start import CHECKOUT

TOLD = """
import gc, os, sys
from django.conf import settings
print(settings.DATABASES["default"]["NAME"], settings.ENVIRONMENT.data_dir, settings.SECRET_KEY, sep="|")
print(gc.isenabled(), os.getcwd(), sys.argv[0], "dashboard.runtime.asgi_application" in sys.modules, sep="|")
print(sorted(os.listdir("/proc/self/fd"), key=int)[:3], os.getppid(), len(os.listdir("/proc/self/task")), sep="|")
print(input(), file=sys.stderr)
sys.exit(3)
"""
WAITS = ["shell", "--no-imports", "-c", "import sys; print('waits', flush=True); sys.stdin.read()"]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    given = {"DATABASE_URL": "postgres://me@localhost/of_this_test", "WHYSTOP_SECRET_KEY": "of this test"}
    return {**first_start.environment(tmp_path), **given}


@contextmanager
def waiting(environment: Mapping[str, str]) -> Iterator[subprocess.Popen]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = [*forked_start.PROGRAM, *WAITS]
    with forked_start.Popen(command, cwd=CHECKOUT, env=environment, start_new_session=True, **pipes) as process:
        try:
            assert process.stdout.readline() == b"waits\n"
            yield process
        finally:
            process.kill()


def words_of(process: int) -> list[str]:
    return Path(f"/proc/{process}/cmdline").read_text().split("\0")[1:-1]


def test_a_forked_process_sees_and_ends_like_a_fresh_one(environment: dict[str, str]):
    words = ["shell", "--no-imports", "-c", TOLD]
    split = forked_start.run(words, env=environment, input="typed\n", timeout=60, **forked_start.BOTH)
    fresh = subprocess.run(
        [*forked_start.PROGRAM, *words], cwd=CHECKOUT, env=environment, input="typed\n", timeout=60,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "of_this_test|" in split.stdout
    assert (split.stdout, split.stderr, split.returncode) == (fresh.stdout, "typed\n", 3)
    assert fresh.returncode == 3


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_signal_ends_only_it_and_its_parent_is_told(environment: dict[str, str], number: signal.Signals):
    with waiting(environment) as other, waiting(environment) as process:
        assert words_of(process.pid)[:2] == ["-m", "tests.forker"], "it was not split but started"
        assert os.getpgid(process.pid) == os.getsid(process.pid) == process.pid
        os.killpg(process.pid, number)
        assert process.wait(60) == -number
        assert process.stdout.read() == b"", "nobody else has its end of the pipe"
        assert other.poll() is None


def test_ctrl_c_ends_it_like_a_fresh_process(environment: dict[str, str]):
    with waiting(environment) as process:
        process.send_signal(signal.SIGINT)
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a shell
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(1)
            process.kill()
        else:
            assert process.wait(60) == -signal.SIGINT
            assert b"KeyboardInterrupt" in process.stderr.read()


def test_a_process_is_started_afresh_where_a_loaded_module_would_differ(environment: dict[str, str]):
    with waiting({**environment, "WHYSTOP_DEBUG": "1"}) as process:
        assert words_of(process.pid) == ["manage.py", *WAITS]


def test_an_invalid_setting_is_reported_as_by_a_fresh_process(environment: dict[str, str]):
    ended = forked_start.run(["help"], env={**environment, "WHYSTOP_PORT": "door"}, **forked_start.BOTH)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith("WHYSTOP_PORT ")


def test_other_programs_are_started_as_usual():
    with forked_start.Popen([sys.executable, "-c", "print(1)"], stdout=subprocess.PIPE) as process:
        assert process.communicate()[0] == b"1\n"
