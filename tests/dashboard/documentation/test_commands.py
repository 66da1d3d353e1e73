"""Every command of the documents is one that there is, with these words.

They are run by tests/dashboard/runtime/test_documented_commands.py.
"""

import re
import shlex
from importlib.util import find_spec
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command, get_commands, load_command_class

from dashboard.client.command_line import _parser
from tests.dashboard.documentation.blocks import DOCUMENTS, ROOT, blocks_of, lines, variables_and_words
from tests.dashboard.driving import Play
from tests.together import together

LINES = sorted(set(lines()))
TUTORIAL = ROOT / "docs" / "tutorial" / "first-limit.md"
#: Variables of OpenTelemetry's and PostgreSQL's programs, and of Python.
OTHERS = ("OTEL_EXPORTER_OTLP_", "PGOPTIONS", "PYTHONPATH")
#: Programs that are not of this tree: what they accept is not checked here.
PROGRAMS = {"lint-imports", "psql", "ruff", "mypy", "git", "helm", "kubectl"}


def understood(program: str, words: list[str]) -> None:
    """Fail unless the program takes the words."""
    match Path(program).name, words:
        case "python3" | "python", ["manage.py", name, *rest]:
            load_command_class(get_commands()[name], name).create_parser("manage.py", name).parse_args(rest)
        case "python3" | "python", ["-m", module, *_]:
            assert find_spec(module), module
        case "manage.py", [name, *rest]:
            load_command_class(get_commands()[name], name).create_parser("manage.py", name).parse_args(rest)
        case "whystop", rest:
            _parser().parse_args(rest)
        case "pip", ["install", "-q", "-r", file]:
            assert (ROOT / file).is_file()
        case "pip", ["install", folder]:
            assert (ROOT / folder / "pyproject.toml").is_file()
        case "run", rest:
            assert (ROOT / program).is_file()
            assert set(rest) <= {"--all"}
        case name, _:
            assert name in PROGRAMS


@together
@pytest.mark.parametrize(("page", "line"), LINES)
def test_a_command_of_the_documents_is_valid(page: str, line: str):
    variables, words = variables_and_words(line)
    source = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
    assert [name for name in variables if f"`{name}" not in source and not name.startswith(OTHERS)] == []
    if words:
        understood(words[0], words[1:])


def test_commands_named_in_a_table_are_valid():
    page = (ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| `manage\.py ([^`]+)`", page, re.MULTILINE)
    assert len(named) > 20
    for command in named:
        understood("manage.py", shlex.split(command.replace("PATH…", "logs/").replace("<turn id>", "1")))


def test_every_script_in_python_compiles():
    scripts = [(page.name, block) for page in DOCUMENTS for block in blocks_of(page, "python") if ">>>" not in block]
    for name, script in scripts:
        compile(script, name, "exec")
    assert len(scripts) > 8


@pytest.mark.django_db(transaction=True)
def test_the_tutorial_states_the_actual_results_of_its_turns(play: Play):
    text = " ".join(TUTORIAL.read_text(encoding="utf-8").replace("\n> ", "\n").split())
    short = play("sim-essay", max_tokens=60)
    assert short.verdict.startswith("Cut off 4 times by Max tokens per call (max_tokens)")
    assert short.verdict.split(" With ")[0] in text
    whole = play("sim-essay", name="whole", max_tokens=150)
    assert whole.status == "completed"
    said = StringIO()
    call_command("replay", str(whole.id), sweep="max_continuations=0:4", stdout=said)
    assert "\n".join(said.getvalue().splitlines()[:7]) in TUTORIAL.read_text(encoding="utf-8")
