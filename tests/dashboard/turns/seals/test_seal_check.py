"""Who changes what is stored, with all the rights a database gives, is noticed and the turn named."""

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dashboard.accounts.models import User
from dashboard.agents.selectors import project_default
from dashboard.replay.services import turn_verify
from dashboard.timeline.retention import raw_remove
from dashboard.timeline.services import turns_erase
from dashboard.turns.compression import packed as packed_node
from dashboard.turns.models import Turn
from dashboard.turns.seals import keys, resuming, seal_check, services, signed_lists
from dashboard.turns.seals.chains import head_of, parts_of
from dashboard.turns.seals.models import Chain, Seal, Tombstone
from dashboard.turns.seals.parts import packed
from dashboard.turns.seals.resuming import Notes
from dashboard.turns.seals.seal_check import Checked, check_all
from tests.dashboard.driving import Play
from tests.dashboard.ingest import exports

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(settings, "ENVIRONMENT", replace(settings.ENVIRONMENT, data_dir=tmp_path, signing_key=""))
    return tmp_path


@pytest.fixture
def turn(play: Play) -> Turn:
    return play("sim-essay")


def seal() -> Seal:
    while services.chain_some():
        pass
    made = services.seal_make(now=timezone.now())
    assert made is not None
    return made


def as_superuser(sql: str, *values: Any, there: bool = True) -> None:
    """Past every trigger, as only a superuser of the database gets. `there`: some row must be changed by it."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = 'replica'")
        cursor.execute(sql, values)
        assert cursor.rowcount or not there


@pytest.mark.parametrize(
    "change", ["verdict = 'fine'", "resource = 'time'", "notice = 'x'", "error_type = 'rate_limit'"]
)
def test_what_the_page_of_a_turn_says_of_its_history_cannot_be_changed_unnoticed(turn: Turn, change: str):
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
def test_a_turn_that_was_changed_until_nobody_can_read_it_is_named_and_ends_no_check(play: Play, change: str):
    damaged, whole = play("sim-essay"), play("sim-script")
    as_superuser(change, damaged.id)
    checked = check_all()
    assert checked.turns == 2
    assert set(faults(checked)) == {str(damaged.id)}
    assert whole.id != damaged.id


def faults(checked: Checked | None = None) -> dict[str, str]:
    found: dict[str, str] = {}
    for place, words in (checked or check_all()).faults:
        found[place] = f"{found[place]} {words}" if place in found else words
    return found


def chained_again(turn: Turn) -> None:
    """What a superuser does who has read how chains are made."""
    turn.refresh_from_db()
    parts = parts_of([turn])[turn.id]
    Chain.objects.filter(turn_id=turn.id).update(parts=packed(parts), head=head_of(turn.id, parts))


def test_nothing_is_wrong_where_nothing_was_changed(turn: Turn):
    seal()
    checked = check_all()
    assert (checked.faults, checked.turns, checked.sealed, checked.unchained) == ([], 1, 1, 0)


FORGED = packed_node(b'{"type": "from_nowhere"}\n{}\n[]')
CHANGES = {
    "record 1": "UPDATE turns_record SET packed = 'broken' WHERE turn_id = %s AND seq = 1",
    "record 2": f"UPDATE turns_record SET packed = '\\x{FORGED.hex()}' WHERE turn_id = %s AND seq = 2",
    "attempt 1": "UPDATE turns_attempt SET text = 'I never said this.' WHERE turn_id = %s",
    "provider's bytes of attempt 1": "UPDATE turns_attemptchunk SET raw = 'x' || raw WHERE turn_id = %s",
    "turn": "UPDATE turns_turn SET error_message = 'It never failed so.' WHERE id = %s",
    "turn, attempt 1": "UPDATE turns_turn SET output_text = 'I never said this.' WHERE id = %s",  # its last answer
}


@pytest.mark.parametrize("part", CHANGES)
def test_a_changed_row_is_named(turn: Turn, part: str):
    seal()
    as_superuser(CHANGES[part], turn.id)
    assert faults() == {str(turn.id): f"changed: {part}"}


def test_a_changed_message_is_named_by_the_record_that_says_it(turn: Turn):
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
def test_what_a_row_repeats_of_its_policy_is_compared_with_it(turn: Turn, change: str):
    seal()
    assert faults() == {}
    as_superuser(f"UPDATE turns_turn SET {change} WHERE id = %s", turn.id)
    assert "is not its policy" in faults()[str(turn.id)]


def test_who_dates_a_turn_after_its_seal_does_not_hide_it_from_its_page(turn: Turn):
    sealed = seal()
    as_superuser(CHANGES["turn"], turn.id)
    as_superuser("UPDATE turns_turn SET created_at = %s WHERE id = %s", sealed.made_at + timedelta(hours=1), turn.id)
    chained_again(turn)
    as_superuser("UPDATE sealing_chain SET seal = NULL WHERE turn_id = %s", turn.id)
    turn.refresh_from_db()
    assert any("after seal 1, and its chain was made again" in words for words in seal_check.turn_faults(turn))


def test_who_makes_the_chain_again_cannot_make_the_seal_again(turn: Turn):
    sealed = seal()
    as_superuser(CHANGES["turn"], turn.id)
    chained_again(turn)
    assert faults() == {str(turn.id): "It was changed after seal 1, and its chain was made again."}
    chain = Chain.objects.get()
    sealed.members = turn.id.bytes + bytes(chain.head)
    sealed.digest = signed_lists.digest_of(sealed)
    sealed.save()
    assert "signature is not this installation's" in faults()["seal 1"]


def test_a_seal_signed_by_another_key_counts_nothing(turn: Turn, data_dir: Path):
    seal()
    (data_dir / "signing-key").write_text(keys.new_key())
    assert "signature is not this installation's" in faults()["seal 1"]


def test_what_a_rotated_key_signed_still_counts(turn: Turn):
    seal()
    before = keys.public_key()
    assert keys.rotate() != before
    seal()
    assert faults() == {}


def test_a_removed_turn_is_named_and_an_erased_one_is_not(play: Play):
    stolen, erased = play("sim-essay"), play("sim-script")
    seal()
    by = User.objects.create(username="ada")
    assert turns_erase(project=project_default(), chosen=[erased.id], by=by) == 1
    as_superuser("DELETE FROM turns_turn WHERE id = %s", stolen.id)
    as_superuser("DELETE FROM sealing_chain WHERE turn_id = %s", stolen.id)
    assert faults() == {str(stolen.id): "It was removed: seal 1 holds it, and nobody erased it here."}


def test_a_note_that_nobody_signed_excuses_nothing(turn: Turn):
    seal()
    as_superuser("DELETE FROM turns_turn WHERE id = %s", turn.id)
    Tombstone.objects.create(
        kind="erased", by="ada", at=timezone.now(), turn_ids=[turn.id], public_key=keys.public_key(), signature="AAAA"
    )
    found = faults()
    assert "is not signed by us" in found["tombstone"]
    assert "It was removed" in found[str(turn.id)]


def test_bytes_that_a_policy_had_removed_are_no_theft_and_others_are(play: Play):
    kept, due = play("sim-essay"), play("sim-script")
    Turn.objects.filter(pk=due.pk).update(keep_raw_days=0)
    seal()
    assert raw_remove(now=timezone.now() + timedelta(days=1)) == 1
    assert faults() == {}
    as_superuser("DELETE FROM turns_attemptchunk WHERE turn_id = %s", kept.id)
    assert faults() == {str(kept.id): "removed: provider's bytes of attempt 1, times and texts of attempt 1"}


def test_a_turn_that_is_put_among_sealed_ones_is_named(turn: Turn, play: Play):
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


def test_a_changed_turn_whose_chain_is_given_to_the_next_seal_is_named(turn: Turn):
    seal()
    as_superuser("UPDATE turns_turn SET error_message = 'forged' WHERE id = %s", turn.id)
    Chain.objects.filter(turn_id=turn.id).delete()
    seal()
    assert "Seal 2 holds it again, and nobody erased it since seal 1" in faults()[str(turn.id)]


@pytest.fixture
def rewritten(transactional_db: None) -> Turn:
    """A turn that more of its trace has come of, sealed before and after that."""
    spans = exports.export("vercel-ai-sdk-agent").spans
    for parts in (spans[:-1], spans[-1:]):
        exports.send(*parts)
        seal()
    return Turn.objects.get(id__in=Tombstone.objects.get().turn_ids)


def test_a_turn_that_was_written_anew_is_bound_by_the_seals_after_that(rewritten: Turn):
    assert faults() == {}
    as_superuser("UPDATE turns_turn SET error_message = 'forged' WHERE id = %s", rewritten.id)
    Chain.objects.filter(turn_id=rewritten.id).update(seal=None)
    chained_again(rewritten)
    assert "chain was made again" in faults()[str(rewritten.id)]
    assert not turn_verify(turn=rewritten).verified


def test_a_turn_that_was_written_anew_and_is_removed_is_named(rewritten: Turn):
    as_superuser("DELETE FROM turns_turn WHERE id = %s", rewritten.id)
    assert "nobody erased it here" in faults()[str(rewritten.id)]


def seal_ahead() -> Seal:
    """A seal of a process whose clock is ahead."""
    while services.chain_some():
        pass
    Chain.objects.filter(seal=None).update(chained_at=timezone.now() + timedelta(seconds=40))
    made = seal()
    assert made.made_at > timezone.now() + timedelta(seconds=20)
    return made


def test_a_turn_that_is_erased_right_after_a_seal_of_a_clock_ahead_is_no_theft(turn: Turn):
    seal_ahead()
    by = User.objects.create(username="ada")
    assert turns_erase(project=project_default(), chosen=[turn.id], by=by) == 1
    assert faults() == {}


def test_a_turn_that_is_written_anew_between_seals_of_two_clocks_is_bound_by_the_later_one():
    spans = exports.export("vercel-ai-sdk-agent").spans
    exports.send(*spans[:-1])
    seal_ahead()
    exports.send(*spans[-1:])
    seal()
    assert faults() == {}
    [anew] = Tombstone.objects.get().turn_ids
    as_superuser("DELETE FROM turns_turn WHERE id = %s", anew)
    assert "seal 2 holds it" in faults()[str(anew)]


def made_at_the_start_of_its_sweep(number: int, started: datetime) -> None:
    """As earlier releases dated a seal."""
    sealed = Seal.objects.get(number=number)
    sealed.made_at = started
    sealed.signature = keys.sign(signed_lists.body_of(sealed))
    sealed.digest = signed_lists.digest_of(sealed)
    sealed.save()
    keys.remember_head(number, sealed.digest)


def test_a_turn_that_was_written_anew_in_the_sweep_of_an_earlier_releases_seal_is_bound_by_it(rewritten: Turn):
    made_at_the_start_of_its_sweep(2, Tombstone.objects.get().at - timedelta(seconds=2))
    assert faults() == {}
    assert turn_verify(turn=rewritten).verified
    as_superuser(CHANGES["turn"], rewritten.id)
    chained_again(rewritten)
    assert "It was changed after seal 2" in faults()[str(rewritten.id)]


def test_an_erasure_long_after_a_seal_excuses_nothing_that_it_holds_again(rewritten: Turn):
    made_at_the_start_of_its_sweep(2, Tombstone.objects.get().at - timedelta(minutes=3))
    assert "Seal 2 holds it again" in faults()[str(rewritten.id)]


def test_a_removed_chain_is_named(turn: Turn):
    seal()
    Chain.objects.all().delete()
    assert faults() == {str(turn.id): "Its chain was removed."}


def test_a_removed_seal_is_named(play: Play):
    first, last = (seal() for _ in range(2))
    digest = last.digest
    Seal.objects.filter(number=last.number).delete()
    assert "data folder remembers it" in faults()["seal 2"]
    Seal.objects.filter(number=first.number).delete()
    assert "No seal has the digest" in dict(check_all(expected=digest).faults)["seal 0"]


#: A row with the digest that the data folder remembers, which nobody signed.
FAKE_SEAL = """
INSERT INTO sealing_seal (number, made_at, previous, members, public_key, signature, digest)
VALUES (-1, now(), '', '', '', '', %s)
"""


@pytest.mark.parametrize("left", [0, 1])
def test_seals_that_were_removed_are_named_also_once_others_were_made_in_their_place(play: Play, left: int):
    turns = []
    for model in ("sim-essay", "sim-script"):
        turns.append(play(model))
        seal()
    as_superuser("UPDATE turns_turn SET error_message = 'forged' WHERE id = %s", turns[1].id)
    _, digest = keys.remembered_head() or (0, "")
    as_superuser(FAKE_SEAL, digest)
    for table in ("chain", "tombstone"):
        as_superuser(f"DELETE FROM sealing_{table} WHERE true OR %s", True, there=table == "chain")
    as_superuser("DELETE FROM sealing_seal WHERE number > %s AND number < 1000", left)
    for turn in turns[:left]:  # whose seal is still there
        services.chain_some(turn.id, limit=1)
        Chain.objects.filter(turn_id=turn.id).update(seal=1)
    seal()
    as_superuser("DELETE FROM sealing_seal WHERE number = -1 OR %s", False)
    for _ in range(2):
        seal()
        assert "It was made here and is gone" in faults()["seal 2"]


def test_a_chain_from_the_future_puts_no_seal_off(turn: Turn):
    services.chain_some()
    as_superuser("UPDATE sealing_chain SET chained_at = now() + interval '9 years' WHERE turn_id = %s", turn.id)
    assert seal().made_at < timezone.now() + timedelta(minutes=2)


def test_seals_are_made_by_the_hour_and_chains_at_once(turn: Turn, monkeypatch: pytest.MonkeyPatch):
    assert services.sweep() == 1
    assert Seal.objects.count() == 1
    assert services.sweep() == 0
    assert Seal.objects.count() == 1
    Seal.objects.update(made_at=timezone.now() - timedelta(days=2))
    services.sweep()
    assert Seal.objects.count() == 2


def test_the_command_names_what_was_changed(turn: Turn, capsys: pytest.CaptureFixture[str]):
    call_command("verify", "--seal", "--all")
    assert "Verified: nothing was changed." in capsys.readouterr().out
    as_superuser(CHANGES["turn"], turn.id)
    with pytest.raises(SystemExit):
        call_command("verify", "--all")
    assert f"{turn.id}: changed: turn" in capsys.readouterr().out


def test_a_turn_of_an_earlier_version_that_this_one_judges_otherwise_is_no_forgery(play: Play):
    then, now = play("sim-essay"), play("sim-script")
    for turn in (then, now):
        as_superuser("UPDATE turns_turn SET output_tokens = 7 WHERE id = %s", turn.id)
    as_superuser("UPDATE turns_turn SET core_version = '1' WHERE id = %s", then.id)
    checked = check_all()
    assert [place for place, _ in checked.changed] == [str(then.id)]
    assert [place for place, _ in checked.faults] == [str(now.id)]


def test_a_check_that_was_ended_goes_on_where_it_was(play: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(seal_check, "BATCH", 1)
    turns = [play("sim-essay"), play("sim-script")]
    as_superuser(CHANGES["record 2"], turns[0].id)
    notes = Notes(tmp_path / "notes")

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


def test_one_turn_more_takes_few_statements_more(play: Play):
    """Statements are what a check takes its time for: 19 to 30 for each turn were 716 s for 10,000."""

    def statements() -> int:
        with CaptureQueriesContext(connection) as asked:
            assert not check_all().faults
        return len(asked)

    play("sim-essay")
    one = statements()
    play("sim-flaky")
    assert statements() - one <= 11


def test_notes_of_another_version_count_for_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    notes = Notes(tmp_path / "notes")
    notes.write(Checked(turns=7), UUID(int=7))
    assert notes.read() is not None
    monkeypatch.setattr(resuming, "VERSION", "another")
    assert notes.read() is None
