"""Ctrl-C ends the command line with 130 and without a word, also while it is still being loaded."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.together import together

CHECKOUT = Path(__file__).parents[3]
#: Presses Ctrl-C when a module is about to be loaded, then runs what `begin` says.
PRESSED = """
import builtins, os, runpy, signal, sys
load, at = builtins.__import__, {at!r}
def pressing(name, *more, **named):
    if name == at:
        os.kill(os.getpid(), signal.SIGINT)
    return load(name, *more, **named)
sys.argv = ["whystop", "list"]
builtins.__import__ = pressing
{begin}
"""
SCRIPT = "from dashboard.client.__main__ import main; main()"
MODULE = "runpy.run_module('dashboard.client', run_name='__main__')"


@together
@pytest.mark.parametrize("begin", [SCRIPT, MODULE])
@pytest.mark.parametrize("at", ["http.client", "argparse", "json"])
def test_ctrl_c_during_loading_is_quiet(begin: str, at: str):
    command = [sys.executable, "-c", PRESSED.format(at=at, begin=begin)]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
