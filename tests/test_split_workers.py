"""What a worker of a run begins with."""

import subprocess

import pytest

from tests import split_workers

LINE = """
import sys
from django.db.backends.base.base import BaseDatabaseWrapper
print("tests.test_lanes" in sys.modules, sys.argv, BaseDatabaseWrapper.ensure_connection.__name__, sys.stdin.read())
"""


@pytest.mark.nightly  # every run with several workers is one more test of it
def test_a_worker_has_imported_the_tests_has_descriptors_of_its_own_and_may_use_its_database():
    source = split_workers.Source([str(split_workers.TESTS / "test_lanes.py")])
    try:
        command = [*source.interpreter.split(), "-u", "-c", LINE]
        ended = subprocess.run(command, input="given", capture_output=True, text=True, check=True)
    finally:
        source.end()
    assert (ended.stdout, ended.stderr) == ("True ['-c'] ensure_connection given\n", "")
