"""The core does no I/O and knows neither time nor chance, and neither does anything it imports."""

import json
import subprocess
import sys

import pytest

import agentcore
from agentcore.errors import CoreError
from tests.together import together

#: A bare interpreter with the core's one library and the harmless part of the standard library. What these load is
#: theirs: jiter brings `decimal`; `time` is built in and loaded always.
BARE = "import dataclasses, enum, typing, re, collections.abc, functools, unicodedata, math, json, jiter"

FORBIDDEN = {
    "asyncio",
    "socket",
    "ssl",
    "select",
    "selectors",
    "time",
    "datetime",
    "random",
    "uuid",
    "secrets",
    "os",
    "io",
    "logging",
    "email",
    "email.utils",
    "tempfile",
    "statistics",
    "subprocess",
    "threading",
    "urllib",
    "urllib.request",
    "http",
    "http.client",
    "django",
    "psycopg",
    "aiohttp",
}


def loaded(statement: str) -> set[str]:
    """The modules of a fresh interpreter after this statement."""
    program = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def test_importing_the_core_loads_no_io_and_no_randomness():
    bare = loaded(BARE)
    core = loaded("import agentcore, agentcore.providers, agentcore.serial, agentcore.machine.state_diagram")
    assert "agentcore" in core
    assert not (core - bare) & FORBIDDEN


def test_the_core_imports_only_itself_its_one_dependency_and_the_standard_library():
    core = loaded("import agentcore, agentcore.providers, agentcore.serial, agentcore.machine.state_diagram")
    outside = {name.partition(".")[0] for name in core} - set(sys.stdlib_module_names) - loaded("pass")
    outside -= {name for name in outside if name.startswith(("__", "_"))}
    assert outside <= {"agentcore", "jiter"}


@together
@pytest.mark.parametrize("name", agentcore.__all__)
def test_every_public_name_resolves(name):
    assert getattr(agentcore, name) is not None


def test_the_public_names_are_sorted_complete_and_listed_once():
    assert len(set(agentcore.__all__)) == len(agentcore.__all__)
    promised = """
        NormalizedStopReason StopReason ChatRequest ChatResponse Message ToolCall ToolSpec TokenUsage ProviderError
        Limits ErrorPolicy ErrorType ErrorHandlingDecision ErrorContext ContinuationDecision ContinuationEvaluation
        ContinuationOutcome ContinuationCriteria Policy State Trigger Snapshot advance verify what_if merge_continuation
        Recording Setup Started ModelResponded ModelFailed Interrupted ToolResult ToolsReturned WokeUp OperatorActed
        OperatorAction CancelRequested Event CallModel RunTools Wait Hold Finish Command Observation verdict
    """
    assert set(promised.split()) <= set(agentcore.__all__)


def test_every_exception_of_the_core_is_a_core_error():
    for name in ("DecodeError", "IllegalEvent", "RecordingError"):
        assert issubclass(getattr(agentcore, name), CoreError)
