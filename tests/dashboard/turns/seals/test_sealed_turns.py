"""What the seals say of turns: what was erased, written anew, removed, and cut off."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from dashboard.accounts.models import User
from dashboard.agents.selectors import project_default
from dashboard.replay.services import turn_verify
from dashboard.timeline.services import turns_erase
from dashboard.turns.models import Turn
from dashboard.turns.seals import keys, services, signed_lists
from dashboard.turns.seals.models import Chain, Seal, Tombstone
from dashboard.turns.seals.seal_check import check_all
from tests.dashboard.driving import Play
from tests.dashboard.ingest import exports

from .forging import CHANGES, as_superuser, chained_again, faults, seal

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_rebuilt_chain_cannot_be_sealed_again(turn: Turn):
    sealed = seal()
    as_superuser(CHANGES["turn"], turn.id)
    chained_again(turn)
    assert faults() == {str(turn.id): "It was changed after seal 1, and its chain was made again."}
    chain = Chain.objects.get()
    sealed.members = turn.id.bytes + bytes(chain.head)
    sealed.digest = signed_lists.digest_of(sealed)
    sealed.save()
    assert "signature is not this installation's" in faults()["seal 1"]


def test_a_seal_signed_by_another_key_is_ignored(turn: Turn, data_dir: Path):
    seal()
    (data_dir / "signing-key").write_text(keys.new_key())
    assert "signature is not this installation's" in faults()["seal 1"]


def test_signatures_of_a_rotated_key_stay_valid(turn: Turn):
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
    assert faults() == {str(stolen.id): "It was removed: seal 1 contains it, but no erasure is recorded here."}


def test_an_unsigned_note_excuses_nothing(turn: Turn):
    seal()
    as_superuser("DELETE FROM turns_turn WHERE id = %s", turn.id)
    Tombstone.objects.create(
        kind="erased", by="ada", at=timezone.now(), turn_ids=[turn.id], public_key=keys.public_key(), signature="AAAA"
    )
    found = faults()
    assert "is not signed by us" in found["tombstone"]
    assert "It was removed" in found[str(turn.id)]


def test_a_changed_turn_whose_chain_was_moved_to_the_next_seal_is_named(turn: Turn):
    seal()
    as_superuser("UPDATE turns_turn SET error_message = 'forged' WHERE id = %s", turn.id)
    Chain.objects.filter(turn_id=turn.id).delete()
    seal()
    assert "Seal 2 contains it again, but it was not erased after seal 1" in faults()[str(turn.id)]


@pytest.fixture
def rewritten(transactional_db: None) -> Turn:
    """A turn that more of its trace has come of, sealed before and after that."""
    spans = exports.export("vercel-ai-sdk-agent").spans
    for parts in (spans[:-1], spans[-1:]):
        exports.send(*parts)
        seal()
    return Turn.objects.get(id__in=Tombstone.objects.get().turn_ids)


def test_a_rewritten_turn_is_bound_by_later_seals(rewritten: Turn):
    assert faults() == {}
    as_superuser("UPDATE turns_turn SET error_message = 'forged' WHERE id = %s", rewritten.id)
    Chain.objects.filter(turn_id=rewritten.id).update(seal=None)
    chained_again(rewritten)
    assert "chain was made again" in faults()[str(rewritten.id)]
    assert not turn_verify(turn=rewritten).verified


def test_a_rewritten_turn_that_is_removed_is_named(rewritten: Turn):
    as_superuser("DELETE FROM turns_turn WHERE id = %s", rewritten.id)
    assert "no erasure is recorded here" in faults()[str(rewritten.id)]


def seal_ahead() -> Seal:
    """A seal of a process whose clock is ahead."""
    while services.chain_some():
        pass
    Chain.objects.filter(seal=None).update(chained_at=timezone.now() + timedelta(seconds=40))
    made = seal()
    assert made.made_at > timezone.now() + timedelta(seconds=20)
    return made


def test_a_turn_erased_right_after_a_seal_of_a_clock_ahead_is_no_fault(turn: Turn):
    seal_ahead()
    by = User.objects.create(username="ada")
    assert turns_erase(project=project_default(), chosen=[turn.id], by=by) == 1
    assert faults() == {}


def test_a_turn_rewritten_between_seals_of_two_clocks_is_bound_by_the_later_one():
    spans = exports.export("vercel-ai-sdk-agent").spans
    exports.send(*spans[:-1])
    seal_ahead()
    exports.send(*spans[-1:])
    seal()
    assert faults() == {}
    [anew] = Tombstone.objects.get().turn_ids
    as_superuser("DELETE FROM turns_turn WHERE id = %s", anew)
    assert "seal 2 contains it" in faults()[str(anew)]


def made_at_the_start_of_its_sweep(number: int, started: datetime) -> None:
    """As earlier releases dated a seal."""
    sealed = Seal.objects.get(number=number)
    sealed.made_at = started
    sealed.signature = keys.sign(signed_lists.body_of(sealed))
    sealed.digest = signed_lists.digest_of(sealed)
    sealed.save()
    keys.remember_head(number, sealed.digest)


def test_a_turn_rewritten_during_a_sweep_of_an_earlier_release_is_bound_by_its_seal(rewritten: Turn):
    made_at_the_start_of_its_sweep(2, Tombstone.objects.get().at - timedelta(seconds=2))
    assert faults() == {}
    assert turn_verify(turn=rewritten).verified
    as_superuser(CHANGES["turn"], rewritten.id)
    chained_again(rewritten)
    assert "It was changed after seal 2" in faults()[str(rewritten.id)]


def test_an_erasure_long_after_a_seal_excuses_nothing_that_it_contains_again(rewritten: Turn):
    made_at_the_start_of_its_sweep(2, Tombstone.objects.get().at - timedelta(minutes=3))
    assert "Seal 2 contains it again" in faults()[str(rewritten.id)]


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
def test_removed_seals_are_named_even_after_others_took_their_place(play: Play, left: int):
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
        assert "It was created here and is missing" in faults()["seal 2"]
