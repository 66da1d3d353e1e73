"""The gateway speaks as its golden transcripts have it, word by word. `python -m tests.golden` shows what changed."""

import difflib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from dashboard.accounts.services import bootstrap_token_ensure
from dashboard.simulator.app import Simulator
from tests.dashboard.conftest import serving
from tests.dashboard.gateway.served.gate import gateway_served
from tests.golden.conversations import CONVERSATIONS
from tests.golden.gateway import held, prepare

TOKEN = "a-token-of-24-characters-or-more"
TRANSCRIPTS = Path(__file__).parent / "transcripts"


@pytest.fixture
def address(transactional_db: None) -> Iterator[str]:
    with gateway_served() as url:
        yield url


@pytest.fixture(scope="module")
def simulator_url() -> Iterator[str]:
    with serving(Simulator(token_ms=0)) as url:
        yield url


@pytest.mark.django_db(transaction=True)
def test_every_conversation_matches_its_golden_transcript(address: str, simulator_url: str, subtests: pytest.Subtests):
    bootstrap_token_ensure(TOKEN)
    prepare(simulator_url)
    for name in CONVERSATIONS:
        with subtests.test(name):
            found = "".join(_difference(file, transcript) for file, transcript in held(name, address, TOKEN))
            assert not found, f"\n{found}\nIf this is meant: python -m tests.golden --write"


def test_every_transcript_belongs_to_a_conversation():
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
