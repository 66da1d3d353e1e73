"""Who changes what is stored, with all the rights a database gives, is noticed and the turn named."""

from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dashboard.runtime.management.commands import verify
from dashboard.runtime.management.commands.verify import ResumeFile
from dashboard.timeline.retention import raw_remove
from dashboard.turns.models import Turn
from dashboard.turns.seals import seal_check, services
from dashboard.turns.seals.models import Chain, Seal
from dashboard.turns.seals.seal_check import Checked, check_all
from tests.dashboard.driving import Play

from .forging import CHANGES, as_superuser, chained_again, faults, seal

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize(
    "change", ["verdict = 'fine'", "resource = 'time'", "notice = 'x'", "error_type = 'rate_limit'"]
)
def test_the_history_statement_on_a_turn_page_cannot_be_changed_undetected(turn: Turn, change: str):
    as_superuser(f"UPDATE turns_turn SET {change} WHERE id = %s", turn.id)
    assert "differs from its history" in faults()[str(turn.id)]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE turns_attempt SET request = request || 'x' WHERE turn_id = %s",
        "UPDATE turns_record SET event = '[1]', packed = NULL WHERE turn_id = %s",
        "UPDATE turns_turn SET policy = '[1]' WHERE id = %s",
    ],
)
def test_a_turn_changed_until_unreadable_is_named_and_does_not_end_the_check(play: Play, change: str):
    damaged, whole = play("sim-essay"), play("sim-script")
    as_superuser(change, damaged.id)
    checked = check_all()
    assert checked.turns == 2
    assert set(faults(checked)) == {str(damaged.id)}
    assert whole.id != damaged.id


def test_unchanged_data_has_no_faults(turn: Turn):
    seal()
    checked = check_all()
    assert (checked.faults, checked.turns, checked.sealed, checked.unchained) == ([], 1, 1, 0)


@pytest.mark.parametrize("part", CHANGES)
def test_a_changed_row_is_named(turn: Turn, part: str):
    seal()
    as_superuser(CHANGES[part], turn.id)
    assert faults() == {str(turn.id): f"changed: {part}"}


def test_a_changed_message_is_named_by_the_record_that_contains_it(turn: Turn):
    seal()
    as_superuser("UPDATE turns_node SET packed = 'broken' WHERE id = %s", turn.node_id)
    assert faults() == {str(turn.id): "changed: record 1, messages and shared values"}


def test_a_removed_record_is_named(turn: Turn):
    seal()
    as_superuser("DELETE FROM turns_record WHERE turn_id = %s AND seq = 2", turn.id)
    assert faults() == {str(turn.id): "removed: record 2"}


@pytest.mark.parametrize(
    "change",
    [
        "policy = jsonb_set(policy, '{1,limits,max_total_output_chars}', '7')",
        "policy_sources = jsonb_set(policy_sources, '{1,layers}', '[{\"policy\": \"other\"}]')",
        "policy = policy || '[7]'",
    ],
)
def test_policy_values_copied_into_a_row_are_compared_with_the_policy(turn: Turn, change: str):
    seal()
    assert faults() == {}
    as_superuser(f"UPDATE turns_turn SET {change} WHERE id = %s", turn.id)
    assert "The copy of its policy that searches use differs from it" in faults()[str(turn.id)]


def test_a_turn_dated_after_its_seal_is_still_checked_on_its_page(turn: Turn):
    sealed = seal()
    as_superuser(CHANGES["turn"], turn.id)
    as_superuser("UPDATE turns_turn SET created_at = %s WHERE id = %s", sealed.made_at + timedelta(hours=1), turn.id)
    chained_again(turn)
    as_superuser("UPDATE sealing_chain SET seal = NULL WHERE turn_id = %s", turn.id)
    turn.refresh_from_db()
    assert any("after seal 1, and its chain was made again" in words for words in seal_check.turn_faults(turn))


def test_bytes_removed_by_a_policy_are_no_fault_and_other_missing_bytes_are(play: Play):
    kept, due = play("sim-essay"), play("sim-script")
    Turn.objects.filter(pk=due.pk).update(keep_raw_days=0)
    seal()
    assert raw_remove(now=timezone.now() + timedelta(days=1)) == 1
    assert faults() == {}
    as_superuser("DELETE FROM turns_attemptchunk WHERE turn_id = %s", kept.id)
    assert faults() == {str(kept.id): "removed: provider's bytes of attempt 1, times and texts of attempt 1"}


def test_a_turn_inserted_among_sealed_ones_is_named(turn: Turn, play: Play):
    late = play("sim-script")
    Chain.objects.all().delete()
    as_superuser("UPDATE turns_turn SET status = 'running' WHERE id = %s", late.id)
    seal()
    as_superuser(
        "UPDATE turns_turn SET status = 'completed', finished_at = finished_at - interval '1 day' WHERE id = %s",
        late.id,
    )
    seal()
    assert "added out of order" in faults()[str(late.id)]


def test_a_removed_chain_is_named(turn: Turn):
    seal()
    Chain.objects.all().delete()
    assert faults() == {str(turn.id): "Its chain was removed."}


def test_a_chain_from_the_future_does_not_delay_a_seal(turn: Turn):
    services.chain_some()
    as_superuser("UPDATE sealing_chain SET chained_at = now() + interval '9 years' WHERE turn_id = %s", turn.id)
    assert seal().made_at < timezone.now() + timedelta(minutes=2)


def test_seals_are_made_hourly_and_chains_at_once(turn: Turn, monkeypatch: pytest.MonkeyPatch):
    assert services.sweep() == 1
    assert Seal.objects.count() == 1
    assert services.sweep() == 0
    assert Seal.objects.count() == 1
    Seal.objects.update(made_at=timezone.now() - timedelta(days=2))
    services.sweep()
    assert Seal.objects.count() == 2


def test_the_command_names_the_changed_data(turn: Turn, capsys: pytest.CaptureFixture[str]):
    call_command("verify", "--seal", "--all")
    assert "Verified: nothing was changed." in capsys.readouterr().out
    as_superuser(CHANGES["turn"], turn.id)
    with pytest.raises(SystemExit):
        call_command("verify", "--all")
    assert f"{turn.id}: changed: turn" in capsys.readouterr().out


def test_a_turn_of_an_earlier_version_judged_differently_now_is_not_forgery(play: Play):
    then, now = play("sim-essay"), play("sim-script")
    for turn in (then, now):
        as_superuser("UPDATE turns_turn SET output_tokens = 7 WHERE id = %s", turn.id)
    as_superuser("UPDATE turns_turn SET core_version = '1' WHERE id = %s", then.id)
    checked = check_all()
    assert [place for place, _ in checked.changed] == [str(then.id)]
    assert [place for place, _ in checked.faults] == [str(now.id)]


def test_an_interrupted_check_continues_where_it_was(play: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(seal_check, "BATCH", 1)
    turns = [play("sim-essay"), play("sim-script")]
    as_superuser(CHANGES["record 2"], turns[0].id)
    notes = ResumeFile(tmp_path / "notes")

    def end(checked: Checked, last: UUID) -> None:
        notes.write(checked, last)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check_all(on_batch=end)
    begun, after = notes.read()
    assert (begun.turns, after) == (1, turns[0].id)
    seen = []
    checked = check_all(begun=begun, after=after, on_batch=lambda _, last: seen.append(last))
    assert seen == [turns[1].id]
    assert checked.turns == 2
    assert [place for place, _ in checked.faults] == [str(turns[0].id)]


def test_one_more_turn_takes_few_more_statements(play: Play):
    """Statements are what a check takes its time for: 19 to 30 for each turn were 716 s for 10,000."""

    def statements() -> int:
        with CaptureQueriesContext(connection) as asked:
            assert not check_all().faults
        return len(asked)

    play("sim-essay")
    one = statements()
    play("sim-flaky")
    assert statements() - one <= 11


def test_notes_of_another_version_are_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    notes = ResumeFile(tmp_path / "notes")
    notes.write(Checked(turns=7), UUID(int=7))
    assert notes.read() is not None
    monkeypatch.setattr(verify, "VERSION", "another")
    assert notes.read() is None
