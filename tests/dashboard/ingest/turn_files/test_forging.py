"""A file that was altered, its open checksum computed again, is refused or stored as one that does not replay true."""

import base64
import json
from dataclasses import replace
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone

from dashboard.accounts.models import User
from dashboard.exports.share_links.services import link_create
from dashboard.replay.rerun_service import turn_rerun
from dashboard.replay.services import turn_verify
from dashboard.turns.comments.services import comment_add
from dashboard.turns.history import body_text, sha256_of
from dashboard.turns.models import ANSWERED_BY, Turn
from dashboard.turns.origins import origin_told
from dashboard.turns.seals import keys
from dashboard.turns.seals.models import KnownKey
from tests.dashboard.driving import Play, drive
from tests.dashboard.ingest.turn_files.test_services import brought, changed, erase, exported, refused, signed
from tests.dashboard.pages import compact

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def honest(play: Play) -> Turn:
    return play("sim-essay")


def forged(file: dict[str, Any], **answer: str) -> dict[str, Any]:
    """The file with another answer, in every place that holds it but the provider's bytes; nobody signed it."""
    said = file["turn"]["attempts"][0]["text"]
    text = json.dumps(file["turn"]).replace(json.dumps(said)[1:-1], json.dumps(answer["text"])[1:-1])
    return changed({**file, "turn": json.loads(text)}, "turn", "overrides", to=file["turn"]["overrides"])


def test_an_answer_missing_from_the_providers_bytes_does_not_verify(honest: Turn):
    file = exported(honest)
    erase(honest)
    altered = forged(file, text="I never said this.")
    (words,) = refused(altered)["turn.records"]
    assert "bytes of attempt 1 do not give the recorded answer: text" in words
    made = brought(altered, unverified=True)
    assert not made.verified


def test_an_attempt_that_contradicts_its_record_does_not_verify(honest: Turn):
    file = exported(honest)
    erase(honest)
    altered = changed(file, "turn", "attempts", 0, "text", to="Another text.")
    assert "attempt 1 differs from its record" in refused(altered)["turn.records"][0]


def test_streamed_text_missing_from_the_bytes_does_not_verify(honest: Turn):
    file = exported(honest)
    erase(honest)
    altered = changed(file, "turn", "attempts", 0, "chunks", 0, "text", to="I never said this.")
    assert "do not give the recorded answer: text shown while it came." in refused(altered)["turn.records"][0]


def test_a_url_that_the_provider_does_not_use_is_reported(honest: Turn):
    file = exported(honest)
    address = file["turn"]["attempts"][0]["request_url"]
    erase(honest)
    assert brought(changed(file, "turn", "attempts", 0, "request_url", to=f"{address}x")).missing == (
        "The address of attempt 1 does not end like the addresses of its provider, so it cannot be compared.",
    )


def test_a_fork_with_a_changed_request_does_not_verify(honest: Turn):
    fork = drive(turn_rerun(turn=honest, overrides={}, from_record=1))
    file = exported(fork)
    erase(fork)
    assert brought(file, unverified=True).verified
    erase(Turn.objects.get(id=file["id"]))
    altered = changed(file, "turn", "input_text", to="Another question.")
    assert "input differs from the state at which it was forked" in refused(altered)["turn.records"][0]


def test_a_backdated_turn_does_not_verify(honest: Turn):
    file = exported(honest)
    erase(honest)
    altered = changed(file, "turn", "created_at", to="2020-01-01T00:00:00+00:00")
    assert "The time in its id differs from" in refused(altered)["turn.records"][0]


def test_a_changed_question_does_not_verify(honest: Turn):
    file = exported(honest)
    erase(honest)
    altered = changed(file, "turn", "input_text", to="Another question?")
    assert "input differs from its first record" in refused(altered)["turn.records"][0]


def test_a_file_without_the_providers_bytes_says_that_its_answers_were_not_compared(honest: Turn, browser: Any):
    file = exported(honest)
    erase(honest)
    made = brought(changed(file, "turn", "attempts", 0, "chunks", to=[]))
    html = browser.get(f"/turns/{made.turn.id}").content.decode()
    assert "not all compared, origin not proven" in html


def test_observations_and_readings_of_another_version_are_reported_as_not_compared(honest: Turn):
    file = exported(honest)
    erase(honest)
    for record in file["turn"]["records"]:
        record["core_version"], record["observed"] = "0", []
        if "response" in record["event"]:
            record["event"]["response"]["reasoning_content"] = "I meant to deceive."
    made = brought(signed(file))
    told = " ".join(made.missing)
    assert "observations of another version in record 2 differ from those of this version" in told
    assert "bytes of attempt 1 differently from the version that recorded them (reasoning)" in told


def test_an_error_without_its_bytes_is_reported_as_not_compared(play: Play):
    failed = play("sim-flaky")
    file = exported(failed)
    erase(failed)
    assert brought(file).missing == ()
    for attempt in file["turn"]["attempts"]:
        attempt["chunks"] = []
    (made,) = Turn.objects.all()
    erase(made)
    told = " ".join(brought(signed(file)).missing)
    assert "bytes of attempt" in told
    assert "are not stored" in told


def test_an_answer_whose_attempt_was_removed_does_not_verify(honest: Turn):
    file = exported(honest)
    erase(honest)
    altered = changed(file, "turn", "attempts", to=[])
    assert "Attempt 1, whose answer is recorded, is not stored" in refused(altered)["turn.records"][0]
    unsound = brought(altered, unverified=True).turn
    assert not turn_verify(turn=Turn.objects.get(pk=unsound.pk)).verified


def test_the_provider_of_an_answer_cannot_be_removed(honest: Turn):
    file = exported(honest)
    erase(honest)
    altered = changed(file, "turn", "attempts", 0, "response_headers", to={ANSWERED_BY: "a cache"})
    assert "differ on who injected the response" in refused(altered)["turn.records"][0]


def test_an_added_error_beside_an_answer_does_not_verify(honest: Turn):
    file = exported(honest)
    erase(honest)
    altered = changed(file, "turn", "attempts", 0, "error", to={"kind": "server", "message": "It failed."})
    assert "The error of attempt 1 differs from its record" in refused(altered)["turn.records"][0]


@pytest.mark.parametrize(("name", "to"), [("provider", "anthropic"), ("input_text", "")])
def test_a_start_that_differs_from_its_record_does_not_verify(honest: Turn, name: str, to: str):
    file = exported(honest)
    erase(honest)
    assert "differs from its first record" in refused(changed(file, "turn", name, to=to))["turn.records"][0]


def test_a_changed_request_does_not_verify_whatever_its_digest(honest: Turn):
    file = exported(honest)
    erase(honest)
    file["turn"]["messages"][0] = json.dumps({"role": "user", "content": "How do I rob a bank?"})
    messages = [json.loads(message) for message in file["turn"]["messages"]]
    for attempt in file["turn"]["attempts"]:
        body = json.loads(attempt["request"])
        body["messages"] = [*messages[: body["messages"]["history"]], *body["messages"]["tail"]]
        attempt["request_sha256"] = sha256_of(body_text(body))
    words = "The request of attempt 1 is not the one that was to be sent: messages"
    assert words in refused(signed(file))["turn.records"][0]
    unsound = brought(signed(file), unverified=True).turn
    assert not turn_verify(turn=Turn.objects.get(pk=unsound.pk)).verified


@pytest.mark.parametrize(
    ("name", "to"),
    [
        ("kind", "error_retry"), ("iteration", 9), ("model", "gpt-9"), ("max_tokens", 9), ("status_code", 500),
        ("started_at", "2020-01-01T00:00:00+00:00"),
    ],
)  # fmt: skip
def test_an_attempt_not_requested_by_its_record_does_not_verify(honest: Turn, name: str, to: Any):
    file = exported(honest)
    erase(honest)
    assert "attempt 1" in refused(changed(file, "turn", "attempts", 0, name, to=to))["turn.records"][0].lower()


def test_an_extra_attempt_does_not_verify(honest: Turn):
    file = exported(honest)
    erase(honest)
    last = file["turn"]["attempts"][-1]
    altered = changed(file, "turn", "attempts", to=[*file["turn"]["attempts"], {**last, "index": last["index"] + 1}])
    assert "no record asks for it" in refused(altered)["turn.records"][0]


def test_bytes_of_another_dialect_are_not_an_answer(honest: Turn):
    file = exported(honest)
    erase(honest)
    raw = base64.b64encode(b"not an answer of anybody").decode()
    chunks = [{**file["turn"]["attempts"][0]["chunks"][0], "raw": raw}]
    altered = changed(file, "turn", "attempts", 0, "chunks", to=chunks)
    assert "do not give the recorded answer" in refused(altered)["turn.records"][0]


@pytest.mark.parametrize("column", ["status", "stop_reason", "output_text", "output_tokens", "finished_at"])
def test_a_changed_row_does_not_verify(honest: Turn, column: str):
    other = {"output_tokens": 9, "finished_at": honest.created_at}.get(column, "aborted")
    Turn.objects.filter(pk=honest.pk).update(**{column: other})
    found = turn_verify(turn=Turn.objects.get(pk=honest.pk))
    assert not found.verified
    assert found.divergence is not None
    assert column in (found.divergence.replayed or {})["error"]


def test_a_file_names_its_signer_and_an_old_one_is_unsigned(honest: Turn):
    file = exported(honest)
    erase(honest)
    assert signature_of(file) == "own"
    assert signature_of(without(file, "signature", "origin")) == "unsigned"


@pytest.mark.parametrize("path", [("exported_at",), ("core_version",), ("notes", "tags"), ("turn", "documents")])
def test_a_file_changed_after_signing_does_not_verify(honest: Turn, path: tuple[str, ...]):
    to = {"exported_at": timezone.now().isoformat(), "core_version": "another", "tags": ["x"]}.get(
        path[-1], [{"name": "a.txt", "text": "x"}]
    )
    file = exported(honest)
    erase(honest)
    altered = {**changed(file, *path, to=to), "signature": file["signature"]}
    assert "changed after it was signed" in refused(altered)["turn.records"][0]
    assert signature_of(altered) == "broken"


def test_another_installation_is_named_once_its_key_is_known(honest: Turn, monkeypatch: pytest.MonkeyPatch):
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(settings, "ENVIRONMENT", replace(settings.ENVIRONMENT, signing_key=keys.new_key()))
        file = exported(honest)
    erase(honest)
    assert signature_of(file) == "unknown"
    KnownKey.objects.create(public_key=file["signature"]["key"], name="the lab")
    made = brought(file)
    origin = origin_told(Turn.objects.get(pk=made.turn.pk))
    assert origin is not None
    assert (origin["signature"], origin["installation"]) == ("known", "the lab")


def test_the_origin_is_shown_on_page_list_link_api_and_next_export(honest: Turn, browser: Any):
    file = exported(honest)
    assert file["origin"] is None
    assert "recorded by this installation" in compact(browser.get(f"/turns/{honest.id}").content.decode())
    erase(honest)
    ada = User.objects.create(username="ada")
    made = brought(without(file, "signature"), by=ada)
    turn = Turn.objects.get(pk=made.turn.pk)
    _, token = link_create(turn=turn, lifetime="1h", redacted=True, by=ada)
    for address in (f"/turns/{turn.id}", f"/share/{token}"):
        html = compact(browser.get(address).content.decode())
        assert "imported" in html
        assert "by ada, not signed" in html
    assert "imported" in compact(browser.get("/").content.decode())
    told = browser.get(f"/api/v1/turns/{turn.id}").json()["origin"]
    assert (told["imported_by"], told["signature"]) == ("ada", "unsigned")
    again = exported(turn)
    assert (again["origin"]["imported_by"], again["id"]) == ("ada", file["id"])


def test_an_imported_comment_marks_its_name_as_a_claim(honest: Turn, browser: Any):
    ada = User.objects.create(username="ada")
    comment_add(turn=honest, transition=0, text="I approve of this.", author=ada)
    file = exported(honest)
    erase(honest)
    made = brought(file)
    assert "imported, claimed to be by ada" in compact(browser.get(f"/turns/{made.turn.id}").content.decode())
    assert browser.get(f"/api/v1/turns/{made.turn.id}/comments").json()[0]["imported"]


def without(file: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in file.items() if name not in names}


def signature_of(file: dict[str, Any]) -> str:
    made = brought(file, unverified=True)
    try:
        told = origin_told(Turn.objects.get(pk=made.turn.pk))
    finally:
        erase(made.turn)
    return str(told and told["signature"])
