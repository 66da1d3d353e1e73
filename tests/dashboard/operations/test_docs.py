"""Each command of docs/how-to/operations.md is one that there is, with these options."""

import re
import shlex
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

TEXT = (Path(__file__).parents[3] / "docs" / "how-to" / "operations.md").read_text(encoding="utf-8")
COMMANDS = [line for block in re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL) for line in block.splitlines()]


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_of_the_guide_is_understood(line: str):
    program, name, *words = shlex.split(line)
    assert program == "manage.py"
    command = load_command_class(get_commands()[name], name)
    command.create_parser("manage.py", name).parse_args(words)


def test_the_guide_has_commands():
    assert {shlex.split(line)[1] for line in COMMANDS} >= {"backup", "restore", "verify", "doctor", "prune"}
