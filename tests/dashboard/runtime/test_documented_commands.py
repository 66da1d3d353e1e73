"""Every fenced command of the documents is run against one product, or is in the table of those that cannot be."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from dashboard.client import Whystop
from dashboard.simulator.texts import ESSAY
from tests import first_start
from tests.dashboard.documentation.blocks import commands
from tests.dashboard.ingest.logs.test_aider import HISTORY
from tests.dashboard.runtime.conftest import CHECKOUT, PATIENCE, Up, data_folder
from tests.dashboard.runtime.documented_commands import (
    ELSEWHERE,
    NOT_RUN,
    PLACES,
    RUN,
    SCRIPTS,
    Run,
    command_at,
    read_elsewhere,
)

TOKEN = "a-token-of-24-characters-or-more"
MANAGE = f"{sys.executable} {CHECKOUT / 'manage.py'}"
TURN = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
DJANGO = "import os, django; os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'dashboard.settings'); django.setup()\n"


@dataclass
class Product:
    """A running product, and a folder to work in."""

    store: Path
    address: str
    folder: Path
    turn: str = ""  #: the turn that a command before this one named
    environment: dict[str, str] = field(default_factory=dict)

    def shell(self, command: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Run a command as it stands in the documents, but for what is the reader's own."""
        own = {
            ".venv/bin/python manage.py": MANAGE,
            "http://127.0.0.1:8321": self.address,
            "/tmp/whystop-upgrade": str(self.store.parent / "upgrade"),
            "TURN_ID": self.turn,
            "model=NAME": "model=sim-essay",
            "calibrate ": "calibrate --yes ",
            "FOLDER": self._socket(),
        }
        for word, meant in own.items():
            command = command.replace(word, meant)
        command = re.sub(r"^whystop ", f"{sys.executable} -m dashboard.client ", command)
        return self._ran(["bash", "-euc", command], **more)

    def python(self, script: str) -> subprocess.CompletedProcess[str]:
        return self._ran([sys.executable, "-c", script])

    def _ran(self, command: list[str], **more: str) -> subprocess.CompletedProcess[str]:
        given = {
            **self.environment,
            "HOME": str(self.folder),
            "PYTHONPATH": str(CHECKOUT),
            "TOKEN": TOKEN,
            "WHYSTOP_TOKEN": TOKEN,
            "WHYSTOP_URL": self.address,
            **more,
        }
        return subprocess.run(
            command,
            cwd=self.folder,
            env=given,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            stdin=subprocess.DEVNULL,
        )

    def _socket(self) -> str:
        """The folder of the embedded database's socket."""
        return next((str(found.parent) for found in self.store.rglob(".s.PGSQL.*") if found.is_socket()), "")


@pytest.fixture(scope="module")
def product(started_once: Callable[[Path], None], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    with data_folder() as store:
        started_once(store)
        ours = tmp_path_factory.mktemp("srv")
        (ours / "ours").mkdir()
        (ours / "ours" / "criteria.py").write_text(command_at(("docs/how-to/criteria.md", "from agentcore import")))
        environment = first_start.environment(store)
        sets = {"WHYSTOP_CRITERIA": "ours.criteria", "PYTHONPATH": str(ours), "WHYSTOP_TEST_SEAM": "1"}
        server = Up({**environment, **sets, "WHYSTOP_BOOTSTRAP_TOKEN": TOKEN, "WHYSTOP_SIM_TOKEN_MS": "0"})
        try:
            address = server.address()
            Whystop(address, TOKEN).start("sim-essay", "Why?", max_tokens=60).wait(seconds=PATIENCE)
            yield Product(store, address, made_folder(tmp_path_factory.mktemp("at")), environment=environment)
        finally:
            server.kill()


def made_folder(folder: Path) -> Path:
    """A folder with the files that the commands name."""
    (folder / "logs").mkdir()
    asked = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Why?"}], "max_tokens": 5}
    choice = {"index": 0, "message": {"role": "assistant", "content": "Because"}, "finish_reason": "length"}
    answer = {"id": "a", "object": "chat.completion", "model": "gpt-4o", "choices": [choice]}
    line = json.dumps({"request": asked, "response": answer})
    for name in ("chat.jsonl", "logs/one.jsonl"):
        (folder / name).write_text(f"{line}\n", encoding="utf-8")
    (folder / "session.har").write_text('{"log": {"entries": []}}', encoding="utf-8")
    (folder / ".aider.chat.history.md").write_text(HISTORY, encoding="utf-8")
    subprocess.run(["gzip", "-k", "chat.jsonl"], cwd=folder, check=True)
    (folder / "question.sql").write_text("SELECT 1 AS one", encoding="utf-8")
    return folder


def test_every_fenced_command_is_run_or_listed_with_a_reason():
    """A table entry names one command, and no command is in no table."""
    found = set(commands())
    listed = [(page, command_at((page, start))) for page, start in PLACES]
    assert sorted(found - set(listed)) == []
    assert len(listed) == len(set(listed)) == len(found)
    assert all(NOT_RUN.values())


def test_scripts_that_are_run_elsewhere_are_read_by_the_test_that_is_named():
    assert len(ELSEWHERE) == len(read_elsewhere())
    for page, test in read_elsewhere():
        assert page in test
        assert "```python" in test


def does(product: Product, run: Run) -> None:
    command = command_at((run.page, run.start))
    more = {"WHYSTOP_DATA_DIR": str(product.store.parent / "other")} if run.elsewhere else {}
    is_script = run.page == "docs/how-to/tools.md"
    ran = product.python(f"{DJANGO}{command}") if is_script else product.shell(command, **more)
    told = ran.stdout + ran.stderr
    assert ran.returncode == run.code, f"{command}\n{told}"
    assert run.said in told, f"{command}\n{told}"
    assert "Traceback" not in told
    if named := TURN.search(told):
        product.turn = named[0]


@pytest.mark.parametrize(
    "run", [run for run in RUN if not run.nightly], ids=lambda run: f"{run.page}: {run.start[:20]}"
)
def test_a_curl_command_of_the_documents_succeeds(product: Product, run: Run):
    does(product, run)


def test_the_scripts_of_the_documents_do_what_they_say(product: Product):
    five_lines, more_room, smallest = map(command_at, SCRIPTS)
    assert len([line for line in five_lines.splitlines() if line]) <= 7
    ran = product.python(five_lines)
    assert ran.stderr == ""
    assert "Record(seq=1," in ran.stdout
    assert "End(turn=Turn(" in ran.stdout
    assert ran.stdout.splitlines()[-1].startswith("Completed")
    prepared = f"from dashboard.client import Whystop\nwhystop = Whystop({product.address!r}, {TOKEN!r})\n"
    assert product.python(prepared + more_room).stdout.strip() == ESSAY
    few = product.python(prepared + smallest)
    assert (few.returncode, few.stdout) == (1, "")
    assert few.stderr == "Too few answers ended, or too many were truncated: no limit can be estimated.\n"
    enough = prepared + "for t in [whystop.start('sim-essay', f'{n}', max_tokens=2000) for n in range(24)]: t.wait()\n"
    assert product.python(enough).stderr == ""
    tried = product.python(prepared + smallest)
    assert tried.stderr == ""
    counts, warnings = tried.stdout.splitlines()
    assert sum(map(int, counts.split())) >= 26, "all turns were judged"
    assert warnings == "[]"


@pytest.mark.nightly
@pytest.mark.parametrize("page", dict.fromkeys(run.page for run in RUN if run.nightly))
def test_the_other_commands_of_a_page_succeed_in_their_order(product: Product, page: str):
    for run in RUN:
        if run.nightly and run.page == page:
            does(product, run)
