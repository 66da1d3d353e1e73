"""Where a what-if says that more would change nothing, more changes nothing: a map then asks once for many cells."""

from pathlib import Path

import pytest

from agentcore.replay import Recording, WhatIf, what_if
from agentcore.values import replace
from tests.recordings.regenerate import read_recording

RECORDINGS = sorted((Path(__file__).parents[2] / "recordings").glob("*.json"))
CONTINUATIONS = (0, 1, 2, 3, 5, 8)
CAPS = (5, 20, 60, 150, 1_000)


def tried(recording: Recording, continuations: int, max_tokens: int) -> WhatIf:
    total = (continuations + 1) * max_tokens
    own = recording.policy
    limits = replace(own.limits, max_continuations=continuations, max_total_completion_tokens=total)
    return what_if(recording, replace(own, limits=limits, max_tokens=max_tokens), trace=False)


def said(found: WhatIf) -> tuple[object, ...]:
    """All that a map tells of it."""
    final = found.final
    assert final is not None
    end = final.end and (final.end.status, final.end.stop_reason, final.end.terminal_reason, final.end.error_code)
    return found.undecidable, found.certainty, found.why, found.assumes, found.work, end, final.spent, final.answer


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_more_changes_nothing_where_it_is_said_to(path: Path):
    recording = read_recording(path)
    for cap in CAPS:
        found = [tried(recording, continuations, cap) for continuations in CONTINUATIONS]
        for place, one in enumerate(found):
            if one.unbound:
                assert [said(more) for more in found[place:]] == [said(one)] * len(found[place:])


def test_it_is_said_of_many_and_not_of_what_a_limit_ended():
    found = {
        (path.stem, cap, n): tried(read_recording(path), n, cap)
        for path in RECORDINGS for cap in CAPS for n in CONTINUATIONS
    }  # fmt: skip
    assert sum(one.unbound for one in found.values()) > len(found) / 4
    ended = [one.final.end.terminal_reason for one in found.values() if one.unbound and one.final and one.final.end]
    assert not {"retry_limit", "budget_exhausted", "max_continuations"} & {str(reason) for reason in ended}
