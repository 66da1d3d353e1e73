"""The form of a policy tries what it says before it is saved, and what is saved carries what came of it."""

import re
from html import unescape

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse

from dashboard.accounts.models import User
from dashboard.agents.models import Policy, PolicyVersion
from dashboard.agents.selectors import project_default
from dashboard.policies.backtests import runner
from dashboard.policies.backtests.models import Backtest
from dashboard.policies.backtests.result_text import in_words
from dashboard.policies.backtests.services import backtest_create
from dashboard.policies.policy_creation import policy_create
from dashboard.policies.policy_versions import policy_attach
from tests.dashboard.driving import Play

pytestmark = pytest.mark.django_db(transaction=True)

SAID = {"recovery": ["markdown-fence", "brace-walker"], "max_continuations": "1"}
LIMITS = {"limits": {"max_continuations": 1}}
SAVED = {"why": "fewer", "counts": "draft", "versions-TOTAL_FORMS": "0", "versions-INITIAL_FORMS": "0"}
OVER = {"over-agent": "", "over-since": "30"}
ITS_OWN = {"over-agent": ":own"}


@pytest.fixture
def wide() -> Policy:
    return policy_create(project=project_default(), name="wide", limits={"max_continuations": 5}).policy


def panel(client: Client, policy: Policy | None, **said: object) -> str:
    address = reverse("backtests:draft") + (f"?policy={policy.pk}" if policy else "")
    answer = client.post(address, {**SAID, **OVER, **said})
    assert answer.status_code == 200
    return unescape(answer.content.decode())


def test_an_unsaved_draft_is_tried_where_the_policy_applies(admin_client: Client, play: Play, wide: Policy):
    flips = play("sim-essay", name="writer", max_tokens=150, policy=wide)
    play("sim-essay", name="elsewhere", max_tokens=150)
    html = panel(admin_client, wide, **ITS_OWN)
    backtest = Backtest.objects.get()
    assert (backtest.policy["limits"], backtest.stands_for) == ({"max_continuations": 1}, wide)
    assert (backtest.filter["agent"], "since" in backtest.filter) == (["writer"], True)
    assert f'name="backtest" value="{backtest.pk}"' in html
    assert "in place of policy “wide”" in " ".join(html.split())
    runner.run(backtest.pk)
    shown = admin_client.get(reverse("backtests:show", args=[backtest.pk]), headers={"HX-Request": "true"})
    assert f"/turns/{flips.id}/replay?max_continuations=1" in shown.content.decode()
    backtest.refresh_from_db()
    assert (backtest.total, backtest.flipped) == (1, 1)
    assert PolicyVersion.objects.count() == 1


def test_turn_overrides_and_other_levels_are_kept_beside_the_draft(admin_client: Client, play: Play, wide: Policy):
    site = policy_create(project=project_default(), name="site", limits={"max_total_output_chars": 500}).policy
    policy_attach(project=project_default(), policy=site)
    own = play("sim-essay", name="a", max_tokens=60, policy=wide, overrides={"limits": {"max_continuations": 4}})
    capped = play("sim-essay", name="b", max_tokens=100, policy=wide)
    assert capped.terminal_reason == "output_cap"
    panel(admin_client, wide, max_continuations="9", **ITS_OWN)
    backtest = Backtest.objects.get()
    runner.run(backtest.pk)
    backtest.refresh_from_db()
    assert (backtest.total, backtest.same) == (2, 2), (own.terminal_reason, backtest.groups)


def test_a_version_saved_with_the_same_content_keeps_the_backtest(admin_client: Client, wide: Policy):
    panel(admin_client, wide)
    backtest = Backtest.objects.get()
    runner.run(backtest.pk)
    address = reverse("admin:agents_policy_change", args=[wide.pk])
    page = admin_client.post(address, {**SAID, **SAVED, "backtest": str(backtest.pk)}, follow=True)
    kept = PolicyVersion.objects.get(version=2)
    assert kept.backtest == backtest
    assert "version 2 of “wide”, with a backtest over 0 turns: it found none" in unescape(page.content.decode())
    for told in (f"/policies/{wide.pk}", f"/policies/{wide.pk}/diff"):
        html = unescape(admin_client.get(told).content.decode())
        assert f'Saved with <a href="/backtests/{backtest.pk}">a backtest' in html
        assert "Saved without a backtest" in html


def test_a_version_with_other_content_has_no_backtest_and_says_so(admin_client: Client, wide: Policy):
    panel(admin_client, wide)
    other = {**SAID, **SAVED, "max_continuations": "2", "backtest": str(Backtest.objects.get().pk)}
    address = reverse("admin:agents_policy_change", args=[wide.pk])
    page = unescape(admin_client.post(address, other, follow=True).content.decode())
    assert "without a backtest: the one that ran used other settings" in page
    assert PolicyVersion.objects.get(version=2).backtest is None
    untried = {**SAID, **SAVED, "max_continuations": "3"}
    assert "of “wide”, without a backtest." in unescape(
        admin_client.post(address, untried, follow=True).content.decode()
    )
    activating = unescape(admin_client.get(f"/policies/{wide.pk}").content.decode())
    assert "No backtest is attached to this version." in activating


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"status": "cancelled", "done": 7, "total": 700}, "was cancelled after 7 of 700 turns"),
        ({"status": "failed", "done": 0, "total": 700}, "failed after 0 of 700 turns"),
        ({"stands_for": "other"}, "ran in place of another policy, “other”"),
        ({"stands_for": None}, "ran alone, not in place of “wide”"),
    ],
)
def test_a_backtest_of_other_content_is_not_attached_and_this_is_reported(
    admin_client: Client, wide: Policy, changes: dict[str, object], words: str
):
    panel(admin_client, wide)
    backtest = Backtest.objects.get()
    if changes.get("stands_for"):
        changes = {"stands_for": policy_create(project=project_default(), name="other").policy}
    Backtest.objects.update(**changes)
    address = reverse("admin:agents_policy_change", args=[wide.pk])
    saved = {**SAID, **SAVED, "backtest": str(backtest.pk)}
    page = unescape(admin_client.post(address, saved, follow=True).content.decode())
    assert f"of “wide”, without a backtest: the one that ran {words}. It is a draft" in page
    assert PolicyVersion.objects.get(policy=wide, version=2).backtest is None
    with pytest.raises(ValidationError, match=re.escape(f"The backtest {words}; run it again")):
        policy_create(project=project_default(), name="wide", backtest=Backtest.objects.get(), **LIMITS)
    assert wide.versions.count() == 2


def test_a_new_policy_has_no_backtest_of_another(wide: Policy):
    backtest = backtest_create(project=project_default(), policy=LIMITS, filter={}, stands_for=wide)
    with pytest.raises(ValidationError, match="in place of another policy, “wide”"):
        policy_create(project=project_default(), name="new", backtest=backtest, **LIMITS)
    assert not Policy.objects.filter(name="new").exists()
    alone = backtest_create(project=project_default(), policy=LIMITS, filter={}, max_tokens=900)
    runner.run(alone.pk)
    alone.refresh_from_db()
    made = policy_create(project=project_default(), name="new", backtest=alone, **LIMITS)
    assert in_words(made.backtest).endswith("over 0 turns with Max tokens per call 900: it found none")
    with pytest.raises(ValidationError, match="ran alone, not in place of “new”; run it again"):
        policy_create(project=project_default(), name="new", backtest=alone, **LIMITS)


@pytest.mark.parametrize(
    ("far", "words"),
    [
        ({"status": "queued"}, "has not begun"),
        ({"status": "running", "done": 7, "total": 700}, "is still running, after 7 of 700 turns"),
    ],
)
def test_a_version_waits_for_the_backtest_of_its_content(
    admin_client: Client, wide: Policy, far: dict[str, object], words: str
):
    panel(admin_client, wide)
    Backtest.objects.update(**far)
    backtest = Backtest.objects.get()
    address = reverse("admin:agents_policy_change", args=[wide.pk])
    saved = {**SAID, **SAVED, "backtest": str(backtest.pk)}
    html = unescape(admin_client.post(address, saved).content.decode())
    assert f"The backtest of these settings {words}. Save when it has finished" in html
    assert f'name="backtest" value="{backtest.pk}"' in html
    with pytest.raises(ValidationError, match=f"The backtest {words}; wait for it, or save without one"):
        policy_create(project=project_default(), name="wide", backtest=backtest, **LIMITS)
    assert wide.versions.count() == 1
    assert "without a backtest: the one that ran used other settings" in unescape(
        admin_client.post(address, {**saved, "max_continuations": "2"}, follow=True).content.decode()
    )


def test_a_form_returned_for_correction_keeps_the_running_backtest(admin_client: Client, wide: Policy):
    panel(admin_client, wide)
    backtest = Backtest.objects.get()
    address = reverse("admin:agents_policy_change", args=[wide.pk])
    html = admin_client.post(address, {**SAID, **SAVED, "why": "", "backtest": str(backtest.pk)}).content.decode()
    assert f'name="backtest" value="{backtest.pk}"' in html
    assert PolicyVersion.objects.count() == 1


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"max_continuations": "-3"}, "Max continuations must be a whole number from 0 to"),
        ({"max_continuations": "a few"}, "Max continuations must be a whole number from 0 to"),
        ({"criteria": "["}, "Custom criteria must be valid JSON: it ends too early (line 1, column 1)."),
        ({"over-agent": "nobody"}, "this agent no longer exists"),
    ],
)
def test_a_fault_is_reported_and_nothing_runs(admin_client: Client, wide: Policy, said: dict[str, str], words: str):
    html = panel(admin_client, wide, **said)
    assert words in re.sub(r"\s+", " ", html)
    assert not Backtest.objects.exists()


def test_a_new_policy_is_tried_on_any_turn(admin_client: Client, play: Play):
    play("sim-essay", max_tokens=60)
    assert "any agent" in unescape(admin_client.get(reverse("admin:agents_policy_add")).content.decode())
    panel(admin_client, None)
    backtest = Backtest.objects.get()
    assert (backtest.stands_for, list(backtest.filter)) == (None, ["since"])


def test_a_watcher_is_refused_with_an_explanation(client: Client, wide: Policy):
    client.force_login(User.objects.create_user("vera", is_staff=True))
    refused = client.post(reverse("backtests:draft"), SAID)
    assert refused.status_code == 403
    assert "backtest policies" in unescape(refused.content.decode())
    assert not Backtest.objects.exists()


def test_a_running_backtest_is_cancelled_in_place(admin_client: Client, wide: Policy):
    panel(admin_client, wide)
    address = reverse("backtests:cancel", args=[Backtest.objects.get().pk])
    part = admin_client.post(address, headers={"HX-Request": "true"}).content.decode()
    assert (Backtest.objects.get().status, "Cancelled. The results so far" in part) == ("cancelled", True)
    assert part.lstrip().startswith('<section id="backtest"')
    assert "hx-trigger" not in part


def test_a_missing_policy_is_404(admin_client: Client):
    for asked in ("x", "01890000-0000-7000-8000-000000000000"):
        assert admin_client.post(f"/backtests/draft?policy={asked}", SAID).status_code == 404
