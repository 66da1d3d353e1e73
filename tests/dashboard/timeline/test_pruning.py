"""The oldest turns go, by age, count and size, and no others."""

from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from dashboard.agents.models import Project
from dashboard.agents.selectors import project_default
from dashboard.bench.long_turn import long_turn_store
from dashboard.platform.ids import first_id_at
from dashboard.timeline import pruning
from dashboard.timeline.pruning import RetentionLimits, plan, prune
from dashboard.turns.models import Turn
from dashboard.turns.seals.seal_check import check_all

pytestmark = pytest.mark.django_db


@pytest.fixture
def turns() -> list[Turn]:
    """Five turns, the oldest first."""
    return sorted(
        (long_turn_store(project=project_default(), attempts=1, stream_bytes=2_000) for _ in range(5)),
        key=lambda t: t.id,
    )


def planned(kept: RetentionLimits, now: datetime | None = None) -> list:
    return list(plan(project=project_default(), kept=kept, now=now or timezone.now()).turn_ids)


def test_all_but_the_newest_n_turns_are_erased(turns: list[Turn]):
    assert planned(RetentionLimits(turns=2)) == [one.id for one in turns[:3]]
    assert planned(RetentionLimits(turns=5)) == []
    assert planned(RetentionLimits(turns=0)) == [one.id for one in turns]


def test_older_turns_are_erased(turns: list[Turn]):
    third = datetime.fromtimestamp((turns[2].id.int >> 80) / 1000, UTC)
    expected = [one.id for one in turns if one.id < first_id_at(third)]
    assert planned(RetentionLimits(age=timedelta(days=1)), third + timedelta(days=1)) == expected
    assert planned(RetentionLimits(age=timedelta(days=1)), third + timedelta(days=2)) == [one.id for one in turns]
    assert planned(RetentionLimits(age=timedelta(days=1))) == []


def test_the_oldest_above_a_size_limit_are_erased(turns: list[Turn]):
    whole = plan(project=project_default(), kept=RetentionLimits(turns=0), now=timezone.now())
    one = whole.bytes / 5
    assert one > 2_000
    assert planned(RetentionLimits(bytes=int(one * 2.5))) == [turn.id for turn in turns[:3]]
    assert planned(RetentionLimits(bytes=whole.bytes)) == []


def test_running_turns_and_turns_of_other_projects_are_kept(turns: list[Turn]):
    Turn.objects.filter(id=turns[0].id).update(status="held")
    other = Project.objects.create(name="other")
    assert planned(RetentionLimits(turns=0)) == [one.id for one in turns[1:]]
    assert plan(project=other, kept=RetentionLimits(turns=0), now=timezone.now()).turn_ids == ()


@pytest.mark.usefixtures("data_dir")
def test_turns_are_erased_in_batches_and_leave_valid_evidence(turns: list[Turn], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pruning, "BATCH", 2)
    found = plan(project=project_default(), kept=RetentionLimits(turns=2), now=timezone.now())
    assert list(prune(project=project_default(), planned=found)) == [2, 1]
    assert set(Turn.objects.values_list("id", flat=True)) == {one.id for one in turns[3:]}
    assert check_all(replay=False).faults == []


def test_the_command_only_counts_until_told_to_erase(turns: list[Turn]):
    out = StringIO()
    call_command("prune", "--keep-turns", "4", stdout=out)
    at = f"{min(turn.created_at for turn in turns):%Y-%m-%d %H:%M}"
    assert out.getvalue().startswith(f"1 turns of 0.0 MB would be erased, from {at} to {at} UTC. ")
    assert Turn.objects.count() == 5
    call_command("prune", "--keep-turns", "4", "--yes", stdout=out, stderr=StringIO())
    assert "Erased 1 turns" in out.getvalue()
    assert Turn.objects.count() == 4


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "Say what to keep"),
        (("--keep-bytes", "much"), "is not a size"),
        (("--project", "none", "--keep-days", "1"), "no project"),
    ],
)
def test_invalid_arguments_are_reported(words: tuple[str, ...], said: str):
    with pytest.raises(CommandError, match=said):
        call_command("prune", *words)
