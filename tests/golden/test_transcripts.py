"""The gateway speaks as its golden transcripts have it, word by word. `python -m tests.golden` shows what changed."""

import difflib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from dashboard.accounts.services import bootstrap_token_ensure
from dashboard.simulator.app import Simulator
from tests.dashboard.conftest import serving
from tests.dashboard.website import website
from tests.golden.conversations import CONVERSATIONS
from tests.golden.gateway import held, prepare

TRANSCRIPTS = Path(__file__).parent / "transcripts"


@pytest.fixture(scope="module")
def address(django_db_setup: None) -> Iterator[str]:
    with website() as url:
        yield url


@pytest.fixture(scope="module")
def simulator_url() -> Iterator[str]:
    with serving(Simulator(token_ms=0)) as url:
        yield url


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", CONVERSATIONS)
def test_a_conversation_goes_as_its_golden_transcript_has_it(name: str, address: str, simulator_url: str):
    # The gateway remembers for a second whose token it is, and each conversation has a database of its own.
    token = f"a-token-of-{name}"
    bootstrap_token_ensure(token)
    prepare(name, CONVERSATIONS[name], simulator_url)
    exchanges = held(name, CONVERSATIONS[name], address, token)
    found = "".join(_difference(file, transcript) for file, transcript in exchanges)
    assert not found, f"\n{found}\nIf this is meant: python -m tests.golden --write"


def test_every_transcript_is_of_a_conversation():
    named = {f"{name}.{form}.http" for name in CONVERSATIONS for form in ("whole", "stream")}
    assert {path.name for path in TRANSCRIPTS.iterdir()} == named


def _difference(file: str, transcript: str) -> str:
    """How it differs from the golden one, which `python -m tests.golden --write` then replaces."""
    path = TRANSCRIPTS / file
    golden = path.read_text(encoding="utf-8") if path.exists() else ""
    if os.environ.get("WHYSTOP_GOLDEN") == "write" and golden != transcript:
        path.write_text(transcript, encoding="utf-8")
    lines = difflib.unified_diff(golden.splitlines(True), transcript.splitlines(True), f"golden/{file}", f"now/{file}")
    return "".join(lines)
