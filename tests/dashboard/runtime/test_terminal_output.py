"""No text that a model wrote steers the terminal of whoever runs a command."""

import os
import pty
import subprocess
import sys
from io import StringIO

from dashboard.client.terminal import PlainTerminal
from dashboard.platform.logs import visible

HOSTILE = "\x1b]0;title\x07\x1b[2J\u202eback\r\x9b1m"
SHOWN = r"\x1b]0;title\x07\x1b[2J\u202eback\r\x9b1m"
PROGRAM = f"""
import sys
from dashboard.runtime.terminal_output import guard_terminal
guard_terminal()
print({HOSTILE!r})
print({HOSTILE!r}, file=sys.stderr)
sys.stdout.buffer.write(b"")
"""


def test_control_characters_are_escaped_and_lines_and_tabs_are_kept():
    out = StringIO()
    told = f"a\tb\n{HOSTILE}\n"
    assert PlainTerminal(out).write(told) == len(told)
    PlainTerminal(out).writelines(["\x1b", "c\n"])
    assert out.getvalue() == f"a\tb\n{SHOWN}\n\\x1bc\n"


def test_a_terminal_gets_escapes_and_a_pipe_the_original_bytes():
    near, far = pty.openpty()
    made = subprocess.run([sys.executable, "-c", PROGRAM], stdout=far, stderr=subprocess.PIPE, check=True, timeout=60)
    seen = os.read(near, 4096).decode()
    os.close(near)
    os.close(far)
    assert seen == f"{SHOWN}\r\n"
    assert made.stderr.decode() == f"{HOSTILE}\n"


def test_terminals_and_logs_escape_the_same():
    out, every = StringIO(), "".join(map(chr, range(0x110000))).replace("\t", "")
    PlainTerminal(out).write(every)
    assert out.getvalue() == visible(every)
