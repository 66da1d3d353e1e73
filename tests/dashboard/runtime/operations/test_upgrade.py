"""A database of the first release becomes one of this release, and every turn in it still verifies.

`first_schema.backup` was made with the first release: one turn of each of its agents at 60 tokens a call, one that is
held, one re-run from a record, dumped as it was.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from dashboard.client import Whystop
from tests.dashboard.runtime.conftest import Up
from tests.dashboard.runtime.operations.test_backup import TOKEN, manage
from tests.first_start import CHECKOUT

BACKUP = CHECKOUT / "tests" / "recordings" / "first_schema.backup"
STATUSES = {"completed": 3, "partial": 4, "failed": 1, "aborted": 1, "held": 1}


@pytest.mark.nightly
def test_all_turns_of_the_first_release_verify_and_the_held_one_continues(
    up: Callable[..., Up], environment: dict[str, str], data_dir: Path
):
    code, said = manage(environment, "restore", str(BACKUP))
    assert (code, "Restored 10 turns" in said) == (0, True), said
    code, said = manage(environment, "verify", "--all")
    assert (code, "10 turns" in said, "Verified: nothing was changed." in said) == (0, True, True), said
    assert "changes the outcome" not in said

    whystop = Whystop(up(WHYSTOP_BOOTSTRAP_TOKEN=TOKEN, WHYSTOP_SIM_TOKEN_MS="1").address(), TOKEN)
    turns = list(whystop.turns())
    assert {status: sum(turn.status == status for turn in turns) for status in STATUSES} == STATUSES
    assert all(turn.verdict for turn in turns if turn.ended)
    (held,) = (turn for turn in turns if turn.status == "held")
    released = held.release(breakpoints=[]).wait(seconds=60)
    assert (released.status, released.continuations) == ("partial", 3)
    (essay,) = (turn for turn in turns if turn.agent == "sim-essay" and turn.ended)
    assert essay.what_if(max_tokens=59).certainty in {"certain", "estimated", "undecidable"}
