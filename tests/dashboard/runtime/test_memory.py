"""Memory that is free goes back to the system."""

import subprocess
import sys

#: Frees a large piece, after which glibc by itself keeps those below; then takes and frees many of half its size, each
#: between two that stay. Prints how much is held beside what stays, in bytes.
HELD = """
import resource, sys
from dashboard.runtime.memory import give_back_memory
def held():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
if sys.argv[1] == "given":
    assert give_back_memory()
del (piece := [bytes(8_000_000)])[:]
before = held()
pieces = [b"x" * (2_000_000 if n % 2 else 1_000) for n in range(40)]
pieces[1::2] = [None] * 20
print(held() - before)
"""


def held(how: str) -> int:
    command = [sys.executable, "-c", HELD, how]
    return int(subprocess.run(command, capture_output=True, check=True, text=True).stdout)


def test_what_was_freed_between_pieces_that_stay_goes_back_to_the_system():
    assert held("given") < 4_000_000
