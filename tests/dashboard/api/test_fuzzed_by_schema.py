"""schemathesis asks every operation of the OpenAPI file in ways that it allows and does not allow, and finds nothing:
no 500, no answer of another shape, no status that the file does not have."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from dashboard.accounts.services import bootstrap_token_ensure
from dashboard.live import turn_events
from tests.dashboard.website import TOKEN, website

pytestmark = [pytest.mark.nightly, pytest.mark.django_db(transaction=True)]

CHECKOUT = Path(__file__).parents[3]
WANTED = CHECKOUT / ".ci/clients/requirements-schemathesis.txt"
HOME = CHECKOUT / ".venv/clients/schemathesis"
#: A value of the right shape may still not be allowed (400), be too large (413), or name what has changed (412). One
#: import runs at a time; another is answered 503. Each import begins a process, which takes seconds: these two
#: operations are asked in the ways of the other phases.
CONFIGURATION = """
[[operations]]
include-path-regex = "/(turns|logs)/import$"

[operations.phases.coverage]
enabled = false

[checks.positive_data_acceptance]
expected-statuses = ["2xx", 304, 400, 401, 403, 404, 409, 412, 413, 429, 503]

[checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", 503]
"""
CONFIGURED = ("--config-file", "schemathesis.toml")
UNASKED = ("--exclude-path", "/api/v1/tokens/{token_id}/revoke")  #: it would revoke its own token
HOW = ("--max-examples", "10", "--seed", "22", "--request-timeout", "60", "--no-color", *UNASKED)
SECONDS = 3_000


def program() -> Path:
    """schemathesis in an environment of its own, as the clients of `.ci/clients` are."""
    installed = HOME / "installed.txt"
    if not installed.exists() or installed.read_bytes() != WANTED.read_bytes():
        shutil.rmtree(HOME, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", HOME], check=True)
        install = [HOME / "bin/python", "-m", "pip", "install", "-q", "--no-compile", "--require-hashes", "-r", WANTED]
        subprocess.run(install, check=True)
        shutil.copy(WANTED, installed)
    return HOME / "bin/schemathesis"


def without_keys(schema: dict) -> dict:
    """The examples use one idempotency key for several requests, which is refused: `test_idempotent_writes`."""
    for methods in schema["paths"].values():
        for operation in methods.values():
            named = operation["parameters"]
            operation["parameters"] = [each for each in named if each["name"] != "Idempotency-Key"]
    return schema


def test_schemathesis_finds_nothing(tmp_path: Path, transactional_db: None, monkeypatch: pytest.MonkeyPatch):
    found = program()
    # No worker drives the turns that it starts: streams of their events would stay open.
    monkeypatch.setattr(turn_events, "LIFETIME", 0.5)
    bootstrap_token_ensure(TOKEN)
    (tmp_path / "schemathesis.toml").write_text(CONFIGURATION)
    header = f"Authorization: Bearer {TOKEN}"
    with website() as address:
        asked = Request(f"{address}/api/v1/openapi.json", headers={"Authorization": f"Bearer {TOKEN}"})
        with urlopen(asked, timeout=60) as answer:
            (tmp_path / "openapi.json").write_text(json.dumps(without_keys(json.load(answer))))
        done = subprocess.run(
            [found, *CONFIGURED, "run", "openapi.json", "--url", address, "-H", header, *HOW],
            cwd=tmp_path,
            env={**os.environ, "COLUMNS": "120"},
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    assert done.returncode == 0, done.stdout.decode()[-20_000:]
