"""A draft judged beside what counts, over turns that really ran; none of them notices."""

import re
from dataclasses import asdict
from datetime import timedelta
from html import unescape

import pytest
from django.core.exceptions import ValidationError
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from agentcore.replay import what_if
from dashboard.accounts.models import User
from dashboard.agents.models import PolicyActivation, PolicyVersion, Project
from dashboard.agents.observe_policy import ENDLESS_CHARS
from dashboard.agents.policies import overridden
from dashboard.agents.selectors import policy_version_active
from dashboard.platform.ids import first_id_at
from dashboard.policies import services, shadow_evaluation
from dashboard.policies.audit_log import audit_entries, shadow_in_words
from dashboard.policies.models import Shadow, ShadowVerdict
from dashboard.policies.policy_creation import policy_create
from dashboard.policies.policy_versions import version_activate
from dashboard.policies.selectors import tally_of, turns_under
from dashboard.timeline.services import turns_erase
from dashboard.turns.history import recording_of
from dashboard.turns.models import Turn
from tests.dashboard.driving import Play
from tests.dashboard.pages import compact, page
from tests.dashboard.racing import at_once

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def tight(project: Project) -> PolicyVersion:
    """A draft that allows one continuation where five count."""
    policy_create(project=project, name="wide", limits={"max_continuations": 5})
    return policy_create(project=project, name="wide", limits={"max_continuations": 1}, activate=False)


@pytest.fixture
def shadow(tight: PolicyVersion, ann: User) -> Shadow:
    return services.shadow_start(version=tight, by=ann)


def verdicts(shadow: Shadow) -> dict[str, str]:
    return {str(verdict.turn_id): verdict.word for verdict in shadow.verdicts.all()}


def test_turns_with_a_complete_stored_policy_are_judged_the_same(play: Play, shadow: Shadow):
    flips = play("sim-essay", name="a", max_tokens=150, policy=shadow.version.policy)
    watched = play("sim-essay", name="b", max_tokens=150, policy=shadow.version.policy)
    assert watched.policy_sources is not None
    endless = {**watched.policy, "limits": {**watched.policy["limits"], "max_total_output_chars": ENDLESS_CHARS}}
    Turn.objects.filter(id=flips.id).update(policy=flips.policy, policy_sources=flips.policy_sources)
    for policy in (endless, [str(flips.id), {"limits": endless["limits"]}]):
        Turn.objects.filter(id=watched.id).update(policy=policy)
        assert [turn.id for turn in turns_under(shadow)] == [flips.id]


def test_each_turn_is_judged_once_after_its_end_and_keeps_its_own_ending(play: Play, shadow: Shadow):
    policy = shadow.version.policy
    flips = play("sim-essay", name="a", max_tokens=150, policy=policy)
    same = play("sim-essay", name="b", max_tokens=4000, policy=policy)
    elsewhere = play("sim-essay", name="c", max_tokens=60)
    before = {turn.id: (turn.status, turn.terminal_reason, turn.last_seq) for turn in (flips, same, elsewhere)}
    assert shadow_evaluation.sweep() == 2
    assert shadow_evaluation.sweep() == 0
    assert verdicts(shadow) == {str(flips.id): "flipped", str(same.id): "same"}
    for turn in (flips, same, elsewhere):
        turn.refresh_from_db()
        assert before[turn.id] == (turn.status, turn.terminal_reason, turn.last_seq)
    flip = ShadowVerdict.objects.get(word="flipped")
    assert (flip.before, flip.after) == ("completed", "retry_limit")
    imagined = what_if(
        recording_of(flips), overridden(recording_of(flips).policy, {"limits": {"max_continuations": 1}}), trace=False
    )
    assert imagined.final is not None
    assert flip.tokens_delta == imagined.final.spent.output_tokens - flips.output_tokens
    assert flip.calls_delta == imagined.final.spent.attempts - flips.attempts
    # Started, cut, continued and cut again: there the draft has no continuation left.
    assert (flip.parted_at, ShadowVerdict.objects.get(word="same").parted_at) == (3, None)
    tally = tally_of(shadow)
    assert (tally.sooner, tally.gone_on, tally.another_way) == (1, 0, 0)
    assert flip.certainty == imagined.certainty == "recorded"
    assert (tally.recorded, tally.certain, tally.estimated) == (2, 0, 0)


def test_nothing_is_claimed_where_older_results_did_not_store_their_certainty(play: Play, shadow: Shadow):
    play("sim-essay", max_tokens=150, policy=shadow.version.policy)
    shadow_evaluation.sweep()
    ShadowVerdict.objects.update(certainty="")
    tally = tally_of(shadow)
    assert (tally.recorded, tally.certain, tally.estimated) == (None, None, None)
    assert tally.words.endswith("; how certain is not known")


def test_uncounted_tokens_are_marked_as_estimates(play: Play, shadow: Shadow, browser: Client):
    policy = shadow.version.policy
    play("sim-no-usage", name="a", max_tokens=150, policy=policy)
    shadow_evaluation.sweep()
    (verdict,) = shadow.verdicts.all()
    assert verdict.word == "flipped"
    assert ", about " in verdict.difference
    tally = tally_of(shadow)
    assert tally.about == 1
    html = page(browser, reverse("policies:show", args=[policy.pk]))
    assert "output tokens <b>≈ " in html
    assert verdict.difference in html


def test_numbers_that_change_no_decision_separate_no_turn(play: Play, project: Project):
    policy_create(project=project, name="wide", limits={"max_continuations": 5})
    other = {"max_continuations": 8, "max_seconds": 3600, "max_steps": 9}
    draft = policy_create(project=project, name="wide", limits=other, activate=False)
    services.shadow_start(version=draft)
    play("sim-essay", max_tokens=150, policy=draft.policy)
    shadow_evaluation.sweep()
    verdict = ShadowVerdict.objects.get()
    assert (verdict.word, verdict.parted_at, verdict.difference) == ("same", None, "")


def test_a_turn_with_the_same_ending_by_other_decisions_is_distinguished(play: Play, project: Project):
    wide = policy_create(project=project, name="wide", limits={"max_total_completion_tokens": 4_000}).policy
    whole = play("sim-essay", name="first", max_tokens=150, policy=wide)
    # The last call is clamped to what is left of the smaller total, and ends within it all the same.
    just = {"max_total_completion_tokens": whole.output_tokens + 5}
    draft = policy_create(project=project, name="wide", limits=just, activate=False)
    shadow = services.shadow_start(version=draft)
    turn = play("sim-essay", max_tokens=150, policy=draft.policy)
    shadow_evaluation.sweep()
    verdict, tally = ShadowVerdict.objects.get(), tally_of(shadow)
    assert turn.status == "completed"
    assert (verdict.word, verdict.parted_at is not None, tally.another_way) == ("same", True, 1)


def test_nothing_is_guessed_where_the_recording_has_no_answer(play: Play, project: Project, browser: Client):
    policy_create(project=project, name="wide", limits={"max_continuations": 0})
    draft = policy_create(project=project, name="wide", limits={"max_continuations": 9}, activate=False)
    shadow = services.shadow_start(version=draft)
    turn = play("sim-essay", max_tokens=60, policy=draft.policy)
    shadow_evaluation.sweep()
    tally = tally_of(shadow)
    assert (tally.undecidable, tally.judged, tally.whys) == (1, 1, {"more_text": 1})
    told = page(browser, reverse("policies:show", args=[draft.policy.pk]))
    (listed,) = re.findall(r'<ul class="undecided">(.*?)</ul>', told, re.DOTALL)
    assert "<b>1</b>\u00a0turn: the recording ends here, and the model would have continued." in listed
    assert f'href="/turns/{turn.pk}/replay?max_continuations=9"' in listed
    assert ShadowVerdict.objects.get().certainty == "undecidable"
    assert (tally.recorded, tally.certain, tally.estimated) == (0, 0, 0)


def test_an_override_of_the_turn_takes_precedence_over_the_draft(play: Play, shadow: Shadow):
    turn = play(
        "sim-essay",
        max_tokens=150,
        policy=shadow.version.policy,
        overrides={"limits": {"max_continuations": 4}},
    )
    shadow_evaluation.sweep()
    assert verdicts(shadow) == {str(turn.id): "same"}


def test_derived_turns_are_not_judged(play: Play, shadow: Shadow):
    """Four turns tried live under the draft were counted as four more that it leaves the same."""
    asked = {"max_tokens": 150, "policy": shadow.version.policy}
    turn = play("sim-essay", name="a", **asked)
    again = play("sim-essay", name="b", overrides={"limits": {"max_continuations": 1}}, **asked)
    Turn.objects.filter(id=again.id).update(parent=turn)
    shadow_evaluation.sweep()
    assert verdicts(shadow) == {str(turn.id): "flipped"}


def test_turns_from_before_the_shadow_and_after_its_end_are_not_judged(play: Play, tight: PolicyVersion):
    play("sim-essay", name="a", max_tokens=150, policy=tight.policy)
    shadow = services.shadow_start(version=tight)
    services.shadow_stop(shadow=shadow)
    play("sim-essay", name="b", max_tokens=150, policy=tight.policy)
    assert shadow_evaluation.sweep() == 0
    assert verdicts(shadow) == {}


def test_judged_turns_are_not_read_again_and_running_ones_are_waited_for(play: Play, shadow: Shadow, monkeypatch):
    turn = play("sim-essay", max_tokens=150, policy=shadow.version.policy)
    monkeypatch.setattr(shadow_evaluation, "SKEW", timedelta(0))
    type(turn).objects.filter(pk=turn.pk).update(status="running")
    assert shadow_evaluation.sweep() == 0
    shadow.refresh_from_db()
    assert shadow.seen_to > turn.id
    assert (tally_of(shadow).judged, tally_of(shadow).waiting) == (0, 0)
    type(turn).objects.filter(pk=turn.pk).update(status="completed")
    assert tally_of(shadow).waiting == 1
    assert shadow_evaluation.sweep() == 1
    assert shadow_evaluation.sweep() == 0
    assert (tally_of(shadow).judged, tally_of(shadow).waiting) == (1, 0)
    shadow.refresh_from_db()
    assert turn.id < shadow.seen_to <= first_id_at(timezone.now() + timedelta(seconds=1))


def test_a_held_turn_delays_no_other_and_one_ended_by_a_person_is_skipped(play: Play, shadow: Shadow, monkeypatch):
    policy = shadow.version.policy
    held, dropped = (play("sim-essay", name=name, max_tokens=150, policy=policy) for name in "ab")
    monkeypatch.setattr(shadow_evaluation, "SKEW", timedelta(0))
    Turn.objects.update(status="held")
    shadow_evaluation.sweep()
    later = play("sim-essay", name="c", max_tokens=150, policy=policy)
    assert shadow_evaluation.sweep() == 1
    shadow.refresh_from_db()
    assert shadow.seen_to > later.id
    assert not turns_under(shadow).filter(id__lte=later.id).exists()
    Turn.objects.filter(pk=dropped.pk).update(status="cancelled")
    Turn.objects.filter(pk=held.pk).update(status="completed")
    assert shadow_evaluation.sweep() == 1
    assert verdicts(shadow) == {str(held.id): "flipped", str(later.id): "flipped"}


def test_one_sweep_judges_all_ended_turns_within_its_time(play: Play, shadow: Shadow, anns: Client, monkeypatch):
    monkeypatch.setattr(shadow_evaluation, "BATCH", 2)
    monkeypatch.setattr(shadow_evaluation, "SKEW", timedelta(0))
    for name in "abcde":
        play("sim-essay", name=name, max_tokens=150, policy=shadow.version.policy)
    assert "5 waiting" in page(anns, f"/policies/{shadow.version.policy_id}")
    with monkeypatch.context() as hurried:
        hurried.setattr(shadow_evaluation, "SWEEP_SECONDS", 0.0)
        assert shadow_evaluation.sweep() == 2
    tally = tally_of(shadow)
    assert (tally.judged, tally.waiting) == (2, 3)
    assert shadow_in_words({**asdict(tally), "judged": 2}).endswith("; 3 more had not been evaluated yet)")
    assert shadow_evaluation.sweep() == 3
    assert tally_of(shadow).waiting == 0
    assert "waiting" not in page(anns, f"/policies/{shadow.version.policy_id}")


def test_a_shadow_result_is_deleted_with_its_turn(play: Play, shadow: Shadow, project: Project, ann: User):
    turn = play("sim-essay", max_tokens=150, policy=shadow.version.policy)
    shadow_evaluation.sweep()
    assert turns_erase(project=project, chosen=[turn.id], by=ann) == 1
    assert verdicts(shadow) == {}


def test_the_draft_is_promoted_with_its_results_attached(play: Play, shadow: Shadow, anns: Client):
    turn = play("sim-essay", max_tokens=150, policy=shadow.version.policy)
    shadow_evaluation.sweep()
    policy = shadow.version.policy
    html = page(anns, f"/policies/{policy.pk}")
    assert "would have stopped sooner: 1" in html
    assert f"/turns/{turn.id}/replay?max_continuations=1" in html
    told = unescape(
        anns.post(f"/policies/shadows/{shadow.pk}/promote", {"why": "as tried"}, follow=True).content.decode()
    )
    tally = "1 would have stopped sooner, 0 not known; 1 recorded"
    assert f"activated v2 after a shadow run over 1 turn ({tally})" in told
    assert "Activated after a shadow run over 1 turn" in told
    assert policy_version_active(policy=policy) == shadow.version
    evidence = PolicyActivation.objects.get(version=shadow.version).evidence
    assert (evidence["flipped"], evidence["judged"]) == (1, 1)
    shadow.refresh_from_db()
    assert shadow.ended_at is not None
    assert shadow.ended_by == shadow.created_by, "who promoted it ended it"
    assert "by ann; it ended when v2 was activated" in page(anns, f"/policies/{policy.pk}")
    assert "ended the shadow run of v2, because v2 was activated" in [entry.what for entry in audit_entries(policy)]


def test_a_shadow_ends_when_its_version_is_activated_elsewhere_and_offers_no_promotion(shadow: Shadow, anns: Client):
    promote = f"/policies/shadows/{shadow.pk}/promote"
    assert promote in page(anns, f"/policies/{shadow.version.policy_id}")
    version_activate(version=shadow.version, why="by hand")
    assert promote not in page(anns, f"/policies/{shadow.version.policy_id}")
    shadow_evaluation.sweep()
    shadow.refresh_from_db()
    assert shadow.ended_at is not None
    assert "by ann; it ended when v2 was activated" in page(anns, f"/policies/{shadow.version.policy_id}")
    assert audit_entries(shadow.version.policy)[0].what == "ended the shadow run of v2, because v2 was activated"


def test_a_page_that_was_open_when_the_shadow_ended_offers_no_promotion_and_says_why(shadow: Shadow, anns: Client):
    address = f"/policies/{shadow.version.policy_id}"
    assert "data-over" not in page(anns, address)
    anns.post(f"/policies/shadows/{shadow.pk}/promote", {"why": "as tried"})
    polled = compact(anns.get(address, headers={"HX-Request": "true"}).content.decode())
    assert "data-over" in polled, "the styles hide the acts beside it"
    assert "This shadow run has ended: v2 was activated. Reload the page" in unescape(polled)
    assert "This shadow run has ended" not in page(anns, address), "it shows the versions as they are"


def test_the_user_who_ended_a_shadow_is_recorded_and_shown(shadow: Shadow, ann: User, anns: Client):
    bob = User.objects.create_user("bob")
    services.shadow_stop(shadow=shadow, by=bob)
    with pytest.raises(ValidationError, match="already ended"):
        services.shadow_stop(shadow=shadow, by=ann)
    shadow.refresh_from_db()
    assert shadow.ended_by == bob
    html = page(anns, f"/policies/{shadow.version.policy_id}")
    assert "by ann; ended by bob" in html
    told = [(entry.by, entry.what) for entry in audit_entries(shadow.version.policy)]
    assert told[:2] == [("bob", "ended the shadow run of v2"), ("ann", "started a shadow run of v2")]


def test_a_shadow_ended_on_the_page_is_attributed_to_the_user(shadow: Shadow, ann: User, anns: Client):
    address = f"/policies/{shadow.version.policy_id}"
    assert "Start shadow run of v2" not in page(anns, address), "it runs"
    anns.post(f"/policies/shadows/{shadow.pk}/stop")
    assert "Start shadow run of v2" in page(anns, address)
    shadow.refresh_from_db()
    assert shadow.ended_by == ann
    ann.delete()
    assert audit_entries(shadow.version.policy)[0].by == ""


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE policies_shadow SET why = 'it was for another reason'",
        "UPDATE policies_shadow SET started_at = now()",
        "UPDATE policies_shadow SET ended_at = now()",
        "UPDATE policies_shadow SET ended_at = NULL",
        "UPDATE policies_shadow SET ended_by_id = created_by_id",
        "DELETE FROM policies_shadow",
    ],
)
def test_the_record_of_shadows_cannot_be_changed(shadow: Shadow, statement: str):
    services.shadow_stop(shadow=shadow, by=User.objects.create_user("bob"))
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)


def test_an_active_or_already_shadowed_version_is_refused(tight: PolicyVersion, shadow: Shadow):
    with pytest.raises(ValidationError, match="already has a shadow run"):
        services.shadow_start(version=tight)
    active = policy_version_active(policy=tight.policy)
    assert active is not None
    with pytest.raises(ValidationError, match="is already active"):
        services.shadow_start(version=active)
    services.shadow_stop(shadow=shadow)
    with pytest.raises(ValidationError, match="already ended"):
        services.shadow_stop(shadow=shadow)


def test_the_second_of_two_simultaneous_starts_is_told_that_the_shadow_runs(tight: PolicyVersion, ann: User):
    def begin() -> Shadow:
        return services.shadow_start(version=tight, by=ann)

    with pytest.raises(ValidationError, match="wide v2 already has a shadow run"):
        at_once(begin, begin)
    assert Shadow.objects.count() == 1
