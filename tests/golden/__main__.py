"""`python -m tests.golden`: holds every conversation again and shows how it differs from its golden transcript.

`--write` writes what came as the golden transcripts from now on; read the diff before you commit it.
"""

import os
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def main(arguments: list[str]) -> int:
    if "--write" in arguments:
        os.environ["WHYSTOP_GOLDEN"] = "write"
        arguments.remove("--write")
    quiet = ["-q", "--no-header", "--tb=short", "-p", "no:cacheprovider"]
    return pytest.main([str(HERE / "test_transcripts.py"), *quiet, *arguments])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
