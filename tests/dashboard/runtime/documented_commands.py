"""What is done with each fenced command of the documents, by its page and its first words."""

from dataclasses import dataclass
from pathlib import Path

from tests.dashboard.documentation.blocks import commands

Place = tuple[str, str]
MANAGE = ".venv/bin/python manage.py "
START = 'whystop start sim-essay "Why do agents stop?"'


@dataclass(frozen=True)
class Run:
    """A command that is run. `said`: what its output contains; `nightly`: it takes more than 3 s."""

    page: str
    start: str
    said: str = ""
    nightly: bool = True
    code: int = 0
    elsewhere: bool = False  #: in a data folder of its own, as on another machine


#: In the order of each page; some use what the one before them made.
RUN = (
    Run("docs/how-to/client-api.md", f"{START} --max-tokens 60 --watch", "Cut", code=3),
    Run("docs/how-to/client-api.md", f"{START} --max-tokens 60 --break", "[HELD]", code=8),
    Run("docs/how-to/client-api.md", "whystop list --status held", "held"),
    Run("docs/how-to/client-api.md", "whystop release TURN_ID", "Completed"),
    Run("docs/how-to/conversations.md", "CONVERSATION=", '"queued"', nightly=False),
    Run("docs/how-to/exports.md", f"{MANAGE}export --format parquet", "turns.parquet"),
    Run("docs/how-to/exports.md", f"{MANAGE}export --filter agent"),
    Run("docs/how-to/gateway-keys.md", "curl", '"nightly evaluation"', nightly=False),
    Run("docs/how-to/imports.md", f"{MANAGE}import  ", "turn"),
    Run("docs/how-to/imports.md", f"{MANAGE}import logs/", "turn"),
    Run("docs/how-to/imports.md", f"{MANAGE}import --dry-run", "turn"),
    Run("docs/how-to/imports.md", "curl", '"faults"', nightly=False),
    Run("docs/how-to/operations.md", f"{MANAGE}backup whystop", "whystop.backup"),
    Run("docs/how-to/operations.md", f"{MANAGE}restore whystop.backup --check", "turns"),
    Run("docs/how-to/operations.md", f"{MANAGE}restore whystop.backup", "turns", elsewhere=True),
    Run("docs/how-to/operations.md", f"{MANAGE}verify --all", "Verified"),
    Run("docs/how-to/operations.md", f"{MANAGE}backup before-upgrade", "before-upgrade.backup"),
    Run("docs/how-to/operations.md", f"WHYSTOP_DATA_DIR=/tmp/whystop-upgrade {MANAGE}restore", "turns"),
    Run("docs/how-to/operations.md", f"WHYSTOP_DATA_DIR=/tmp/whystop-upgrade {MANAGE}verify", "Verified"),
    Run("docs/how-to/operations.md", f"{MANAGE}prune", "turn"),
    Run("docs/how-to/operations.md", f"{MANAGE}doctor", "writes"),
    Run("docs/how-to/sql.md", f'{MANAGE}query "SELECT', "sim-essay"),
    Run("docs/how-to/sql.md", f"{MANAGE}query --csv"),
    Run("docs/how-to/sql.md", f"{MANAGE}query -", "(1 row)"),
    Run("docs/how-to/sql.md", "PGOPTIONS="),
    Run("docs/how-to/tools.md", "from typing"),
    Run("docs/reference/conformance-seam.md", "call()", "Locks", nightly=False),
    Run("docs/tutorial/first-limit.md", f"{MANAGE}ask", "Max tokens per call"),
    Run("docs/tutorial/first-limit.md", f"{MANAGE}replay TURN_ID --sweep max_continuations", "max_continuations"),
    Run("docs/tutorial/first-limit.md", f"{MANAGE}replay TURN_ID --sweep max_tokens", "max_tokens"),
    Run("docs/explanation/track-record.md", f"{MANAGE}calibrate", "call"),
)  # fmt: skip
#: The running product is started by these, in one: each sets variables of it.
STARTS = (
    ("README.md", f"{MANAGE}up"),
    ("docs/how-to/criteria.md", f"WHYSTOP_CRITERIA=ours.criteria PYTHONPATH=/srv/ours {MANAGE}up"),
    ("docs/how-to/imports.md", f"{MANAGE}up"),
    ("docs/reference/conformance-seam.md", "WHYSTOP_TEST_SEAM=1 WHYSTOP_BOOTSTRAP_TOKEN="),
    ("docs/tutorial/first-limit.md", f"{MANAGE}up"),
)
#: The scripts of the client, which need each other's values.
SCRIPTS = (
    ("docs/how-to/client-api.md", "import os"),
    ("docs/how-to/client-api.md", "turn = whystop.start"),
    ("docs/how-to/client-api.md", "enough = whystop.limits_estimate"),
)
#: Run by a test of their own, which reads the page.
ELSEWHERE = {
    ("docs/how-to/criteria.md", "from agentcore import"): "tests/dashboard/agents/test_criteria.py",
    ("docs/how-to/webhooks.md", "import base64"): "tests/dashboard/exports/webhooks/test_webhooks.py",
}
_CI = "`.ci/run` makes this environment, and runs the tests in it"
_VENDOR = "the vendor's package is not among the requirements of the tests"
#: Commands that no test can run here, and why.
NOT_RUN = {
    ("README.md", "python3 -m venv"): _CI,
    ("README.md", "python3 -m venv .venv && .venv/bin/pip install"): _CI,
    ("README.md", ".venv/bin/pip install"): _CI,
    ("README.md", ".venv/bin/python -m pytest"): "it is the suite itself",
    ("CONTRIBUTING.md", "python3 -m venv"): _CI,
    ("CONTRIBUTING.md", ".venv/bin/pip install"): _CI,
    ("CONTRIBUTING.md", ".venv/bin/python -m pytest"): "it is a part of the suite",
    ("docs/tutorial/first-limit.md", "python3 -m venv"): _CI,
    ("docs/tutorial/first-limit.md", ".venv/bin/pip install"): _CI,
    (
        "docs/how-to/client-api.md",
        "pip install ./dashboard/client",
    ): "pip loads the build's requirements from a registry",
    ("docs/how-to/deploying.md", "kubectl"): "there is no Kubernetes",
    ("docs/how-to/deploying.md", "helm"): "there is no Kubernetes",
    ("docs/how-to/exports.md", "import pandas"): "pandas is not among the requirements of the tests",
    ("docs/how-to/gateway-gemini.md", "from google"): _VENDOR,
    ("docs/how-to/gateway-keys.md", "from openai"): _VENDOR,
    ("docs/how-to/gateway-messages.md", "from anthropic"): _VENDOR,
    ("docs/how-to/gateway-responses.md", "from openai"): _VENDOR,
    ("docs/how-to/gateway.md", "from openai"): _VENDOR,
    ("docs/how-to/metrics.md", f"{MANAGE}worker"): "it does not end; test_worker_metrics.py reads what it serves",
}
PLACES: tuple[Place, ...] = (
    *((run.page, run.start) for run in RUN), *STARTS, *SCRIPTS, *ELSEWHERE, *NOT_RUN,
)  # fmt: skip


def command_at(place: Place) -> str:
    """The command of the documents at this place. The shortest, where several begin so."""
    page, start = place
    return min((command for name, command in commands() if name == page and command.startswith(start)), key=len)


def read_elsewhere() -> list[tuple[str, str]]:
    """Pages with the text of the test that runs their script."""
    return [(Path(page).name, Path(test).read_text(encoding="utf-8")) for (page, _), test in ELSEWHERE.items()]
