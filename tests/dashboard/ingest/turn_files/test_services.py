"""A turn leaves as a file and comes back as what it was."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.core.exceptions import ValidationError
from django.db import connection, transaction

from agentcore.policy import REVISION
from dashboard.accounts.models import User
from dashboard.agents import policies
from dashboard.ingest.turn_files.file_export import file_text, turn_file
from dashboard.ingest.turn_files.file_reader import digest_of
from dashboard.ingest.turn_files.services import Import, turn_import
from dashboard.live.services import TurnConflict, turn_start
from dashboard.replay.services import turn_verify
from dashboard.turns import selectors
from dashboard.turns.comments.services import comment_add
from dashboard.turns.history import raw_response_of, rebuilt_columns, request_body_of
from dashboard.turns.models import Attempt, Outcome, Record, Turn
from tests.dashboard.driving import AgentOf, Play, drive
from tests.together import together

pytestmark = pytest.mark.django_db(transaction=True)

Json = dict[str, Any]
#: Models of the simulator that end in ways of their own, and whether they are given a tool or a schema.
ENDINGS = [
    "sim-essay", "sim-endless", "sim-tools", "sim-cut-tool", "sim-refusal", "sim-odd", "sim-empty", "sim-script",
    "sim-json", "sim-schema", "sim-malformed", "sim-context", "sim-blocked", "sim-hangup", "sim-no-reason", "sim-500",
    "sim-html", "sim-cut-key",
]  # fmt: skip


@pytest.fixture
def cut(play: Play) -> Turn:
    return play("sim-essay", max_tokens=60)


def exported(turn: Turn) -> Json:
    return turn_file(selectors.turn_get(turn.id))


def erase(turn: Turn) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('whystop.erasing', 'on', true)")
        for table in ("record", "outcome", "attempt", "attemptchunk", "turnmessage", "checkpoint"):
            cursor.execute(f"DELETE FROM turns_{table} WHERE turn_id = %s", [turn.id])
        cursor.execute("DELETE FROM turns_turn WHERE id = %s", [turn.id])


def brought(file: Json, **options: Any) -> Import:
    return turn_import(content=file_text(file).encode(), **options)


def signed(file: Json) -> Json:
    """With the checksum that anybody can compute, and without the signature that only its installation can make."""
    return {**file, "sha256": digest_of(file["turn"]), "signature": None}


def changed(file: Json, *path: Any, to: Any) -> Json:
    """A copy of the file, one value another, with a right checksum."""
    copy = json.loads(json.dumps(file))
    place = copy
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = to
    return signed(copy)


def without_times(file: Json) -> Json:
    return {name: value for name, value in file.items() if name not in ("exported_at", "id", "origin", "signature")}


def refused(file: Json | bytes, **options: Any) -> dict[str, list[str]]:
    """What is said to be wrong; and nothing may have been stored."""
    before = Turn.objects.count(), Record.objects.count(), Attempt.objects.count()
    content = file if isinstance(file, bytes) else json.dumps(file).encode()
    with pytest.raises(ValidationError) as caught:
        turn_import(content=content, **options)
    assert before == (Turn.objects.count(), Record.objects.count(), Attempt.objects.count())
    return caught.value.message_dict if hasattr(caught.value, "error_dict") else {"": caught.value.messages}


def test_an_exported_erased_turn_is_restored_unchanged(cut: Turn):
    before, columns = exported(cut), rebuilt_columns(cut)
    sent = [request_body_of(attempt) for attempt in selectors.attempts_of(cut.id)]
    came = [raw_response_of(attempt) for attempt in selectors.attempts_of(cut.id)]
    outcomes = list(Outcome.objects.filter(turn_id=cut.id).values())
    erase(cut)
    made = brought(before)
    assert (made.fresh, made.verified, made.turn.id) == (True, True, cut.id)
    back = Turn.objects.get(pk=cut.id)
    assert without_times(exported(back)) == without_times(before)
    assert {name: getattr(back, name) for name in columns} == columns
    assert back.created_at == cut.created_at
    assert [request_body_of(attempt) for attempt in selectors.attempts_of(cut.id)] == sent
    assert [raw_response_of(attempt) for attempt in selectors.attempts_of(cut.id)] == came
    assert list(Outcome.objects.filter(turn_id=cut.id).values()) == outcomes


@pytest.mark.parametrize("model", ENDINGS)
def test_every_feature_of_a_turn_is_exported_and_imported_unchanged(play: Play, model: str):
    more = {"tools": ["calculator"]} if "tool" in model or model in ("sim-malformed", "sim-cut-key") else {}
    more |= (
        {"envelope_schema": {"type": "object", "required": ["title"]}} if model in ("sim-json", "sim-schema") else {}
    )
    turn = play(model, max_tokens=60, **more)
    file = exported(turn)
    erase(turn)
    made = brought(file)
    assert made.verified
    assert turn_verify(turn=Turn.objects.get(pk=made.turn.pk)).verified
    assert without_times(exported(made.turn)) == without_times(file)


@pytest.mark.parametrize("revision", [9, REVISION])
def test_turns_of_old_and_new_rules_are_exported_and_imported_unchanged(
    play: Play, monkeypatch: pytest.MonkeyPatch, revision: int
):
    """By rules of revision 10 an evaluation holds the violations of a schema as a value."""
    monkeypatch.setattr(policies, "REVISION", revision)
    turn = play("sim-schema", envelope_schema={"type": "object", "required": ["never"]})
    file = exported(turn)
    assert file["turn"]["policy"]["revision"] == revision
    assert ('"violations"' in file_text(file)) == (revision >= 10)
    assert turn_verify(turn=turn).verified
    erase(turn)
    again = brought(file)
    assert again.turn.id == turn.id
    assert turn_verify(turn=Turn.objects.get(pk=again.turn.pk)).verified
    assert without_times(exported(again.turn)) == without_times(file)


@pytest.mark.parametrize("times", [2, 3])
def test_importing_the_same_file_twice_gives_one_turn(cut: Turn, times: int):
    file = exported(cut)
    for _ in range(times):
        made = brought(file)
        assert (made.fresh, made.turn.id) == (False, cut.id)
    assert Turn.objects.count() == 1


def test_another_turn_with_an_existing_id_gets_a_new_id_once(cut: Turn):
    file = changed(exported(cut), "turn", "agent", to="another")
    made = brought(file)
    assert made.fresh
    assert made.turn.id != cut.id
    assert brought(file).turn.id == made.turn.id
    assert without_times(exported(made.turn)) == without_times(file)
    assert made.turn.origin.original_id == cut.id


def test_the_row_is_derived_from_the_history_and_not_from_the_file(cut: Turn):
    file = changed(exported(cut), "turn", "max_tokens", to=999)
    made = brought(changed(file, "turn", "model", to="an-invented-model"), unverified=True)
    assert "model differs from its history" in made.doubt
    assert (made.turn.max_tokens, made.turn.model) == (60, "sim-essay")


def test_a_missing_agent_is_kept_by_name(cut: Turn):
    made = brought(changed(exported(cut), "turn", "agent", to="somebody-elses"))
    assert (made.turn.agent, made.turn.agent_name) == (None, "somebody-elses")
    assert exported(made.turn)["turn"]["agent"] == "somebody-elses"


def test_an_existing_agent_is_linked_unless_the_file_would_give_it_tools(agent_of: AgentOf):
    turn = drive(turn_start(agent=agent_of("sim-tools", tools=["calculator"]), input_text="What is 6 * 7?"))
    file = exported(turn)
    erase(turn)
    assert brought(file).turn.agent == turn.agent
    for more in (("turn", "setup"), ("turn", "records", 0, "event")):
        place = file
        for step in more:
            place = place[step]  # type: ignore[call-overload]
        tools = [*place["setup"]["tools"], {"name": "read_file", "description": "", "schema": {}}]
        made = brought(changed(file, *more, "setup", "tools", to=tools), unverified=True)
        assert made.turn.agent is None


def test_a_fork_keeps_its_parent_if_present_and_otherwise_its_name(cut: Turn):
    from dashboard.replay.rerun_service import turn_rerun

    child = drive(turn_rerun(turn=cut, overrides={"max_tokens": 400}, from_record=2))
    file = exported(child)
    erase(child)
    assert brought(file).turn.parent_id == cut.id
    erase(child)
    erase(cut)
    orphan = brought(file).turn
    assert orphan.parent_id is None
    assert without_times(exported(orphan)) == without_times(file)


def test_comments_are_imported_with_the_names_of_their_authors(cut: Turn):
    author = User.objects.create(username="ada")
    comment_add(turn=cut, transition=3, text="Here it was cut.\nSee https://example.org/a?b=1.", author=author)
    file = exported(cut)
    erase(cut)
    (comment,) = brought(file).turn.comments.all()
    assert (comment.author, comment.author_name, comment.transition) == (None, "ada", 3)
    assert exported(comment.turn)["notes"] == file["notes"]


def test_tags_are_imported_separately_from_the_history(cut: Turn):
    untagged = exported(cut)
    Turn.objects.filter(pk=cut.pk).update(tags=["odd", "later, perhaps"])
    file = exported(cut)
    assert file["notes"]["tags"] == ["odd", "later, perhaps"]
    assert file["sha256"] == untagged["sha256"]
    erase(cut)
    back = brought(file).turn
    assert Turn.objects.get(pk=back.pk).tags == ["odd", "later, perhaps"]
    assert exported(back)["notes"] == file["notes"]


def test_a_duplicate_tag_in_a_file_is_applied_once(cut: Turn):
    file = changed(exported(cut), "notes", "tags", to=["odd", "odd"])
    erase(cut)
    assert brought(file).turn.tags == ["odd"]


def test_a_turn_with_documents_and_tools_is_restored(agent_of: AgentOf):
    agent = agent_of("sim-tools", tools=["calculator", "search_documents"])
    documents = [{"name": "a.md", "text": "Rivers run."}]
    turn = drive(turn_start(agent=agent, input_text="What is 6 * 7?", documents=documents))
    file = exported(turn)
    erase(turn)
    back = brought(file).turn
    assert list(back.documents.values_list("name", "text")) == [("a.md", "Rivers run.")]
    assert without_times(exported(back)) == without_times(file)


def test_texts_that_no_database_accepts_are_restored_unchanged(agent_of: AgentOf):
    """What models say may hold U+0000 and halves of characters; records keep them exactly."""
    agent = agent_of("sim-essay")
    turn = drive(turn_start(agent=agent, input_text="\u202eright to left 👩‍👩‍👧 \ufeff <script>alert(1)</script>"))
    file = exported(turn)
    odd = "\x00 \ud800 <b>"
    file = changed(file, "turn", "records", 0, "observed", to=[{"type": "said", "text": odd}])
    erase(turn)
    made = brought(file, unverified=True)
    assert "are not the expected ones" in made.doubt
    assert exported(made.turn)["turn"]["records"][0]["observed"][0]["text"] == odd


def test_a_running_turn_cannot_be_exported(agent_of: AgentOf):
    with pytest.raises(TurnConflict, match="queued; it can be exported once it has ended"):
        turn_file(turn_start(agent=agent_of("sim-essay"), input_text="Wait."))


def test_an_abandoned_turn_is_restored_as_one(agent_of: AgentOf):
    from dashboard.live.services import turn_give_up

    turn = turn_start(agent=agent_of("sim-essay"), input_text="Wait.")
    turn_give_up(turn_id=turn.id, why="Its worker is gone.")
    file = exported(turn)
    erase(turn)
    back = Turn.objects.get(pk=brought(file).turn.id)
    assert (back.status, back.verdict) == ("interrupted", "Interrupted: Its worker is gone.")
    assert without_times(exported(back)) == without_times(file)
    assert (
        "still running"
        in refused(changed(changed(file, "turn", "gave_up", to=None), "turn", "model", to="m"))["turn.records"][0]
    )


def test_a_history_that_does_not_verify_is_refused_unless_explicitly_accepted(cut: Turn):
    file = changed(exported(cut), "turn", "records", 1, "transitions", 0, "reason", to="because I say so")
    assert "record 2 has another result" in refused(file)["turn.records"][0]
    made = brought(file, unverified=True)
    assert (made.fresh, made.verified) == (True, False)
    assert brought(file, unverified=True).verified is False


FOREIGN = {"path": "os.system", "kwargs": {"command": "id"}}
TIME = "2026-01-01T00:00:00+00:00"
EMPTY_COMMENT = {"transition": 1, "author": "a", "text": "", "created_at": TIME, "edited_at": None}
#: The first move after the first answer, and the first evaluation there.
MOVE = ("turn", "records", 1, "transitions", 1)
MOVED = ".".join(map(str, MOVE))
ASKED = (*MOVE, "outcome", "evaluations", 0)
SAID = ".".join(map(str, ASKED))
NIL, BEGAN = "00000000-0000-0000-0000-000000000000", "turn.records.0.event"
USAGE = "turn.records.4.event.response.usage"
REFERENCE = f'["{NIL}",{{"messages":null}}]'  #: as rows hold what turns share
HOSTILE = [
    ("format", ("format",), "zip", ""),
    ("version", ("version",), 2, "version"),
    ("version as text", ("version",), "1", "version"),
    ("version yes", ("version",), True, "version"),
    ("unknown field", ("turn", "surprise"), 1, "turn.surprise"),
    ("id", ("id",), "../../etc/passwd", "id"),
    ("time without a zone", ("exported_at",), "2026-11-20T00:00:00", "exported_at"),
    ("time before time", ("turn", "created_at"), "0001-01-01T00:00:00+14:00", "turn.created_at"),
    ("provider", ("turn", "provider"), "nobody", "turn.provider"),
    ("input", ("turn", "input_text"), ["a"], "turn.input_text"),
    ("nul", ("turn", "model"), "a\x00b", "turn.model"),
    ("half a character", ("turn", "agent"), "\ud800", "turn.agent"),
    ("long name", ("turn", "agent"), "a" * 5000, "turn.agent"),
    ("huge tokens", ("turn", "max_tokens"), 10**30, "turn.max_tokens"),
    ("negative tokens", ("turn", "max_tokens"), -1, "turn.max_tokens"),
    ("policy", ("turn", "policy"), [], "turn.policy"),
    ("limits", ("turn", "policy"), {"limits": {"max_continuations": "<b>"}}, "turn.policy.limits.max_continuations"),
    ("limits unknown", ("turn", "policy"), {"limits": {"surprise": 1}}, "turn.policy"),
    ("error policy", ("turn", "policy"), {"error_policy": {"on_tool_error": "dance"}}, "turn.policy"),
    ("criterion", ("turn", "policy"), {"criterion_specs": [FOREIGN]}, "turn.records"),
    ("base snapshot", ("turn", "base_snapshot"), {"state": "nowhere"}, "turn.base_snapshot"),
    ("base numbers", ("turn", "base_snapshot"), {"spent": {"attempts": "many"}}, "turn.base_snapshot.spent.attempts"),
    ("setup", ("turn", "setup"), {"setup": {"turn_id": 1}, "messages": []}, "turn.setup"),
    ("setup of another kind", ("turn", "setup"), {"by": {"a": 1}}, "turn.setup"),
    ("gap", ("turn", "records", 1, "seq"), 7, "turn.records"),
    ("event", ("turn", "records", 1, "event"), {"type": "exploded"}, "turn.records.1.event"),
    ("event without fields", ("turn", "records", 1, "event"), {"type": "model_responded"}, "turn.records.1.event"),
    ("event time", ("turn", "records", 1, "event", "at"), "soon", "turn.records.1.event.at"),
    ("event text", ("turn", "records", 1, "event", "response", "text"), 7, "turn.records.1.event.response.text"),
    ("usage", ("turn", "records", -1, "event", "response", "usage", "output_tokens"), 10**40, USAGE),
    ("backwards", ("turn", "records", 1, "event", "at"), -1e12, "turn.records"),
    ("no records", ("turn", "records"), [], "turn.records"),
    ("transitions", ("turn", "records", 1, "transitions"), ["a"], "turn.records.1.transitions.0"),
    ("command", ("turn", "records", 1, "command"), None, "turn.records.1.command"),
    ("command of no type", ("turn", "records", 1, "command"), {}, "turn.records.1.command.type"),
    ("attempt of a command", ("turn", "records", 0, "command", "attempt"), None, "turn.records.0.command.attempt"),
    ("command of less", ("turn", "records", 0, "command"), {"type": "call_model"}, "turn.records.0.command"),
    ("status of an end", ("turn", "records", -1, "command", "status"), {}, "turn.records.4.command.status"),
    ("observed", ("turn", "records", 1, "observed"), [{"type": 5}], "turn.records.1.observed.0.type"),
    ("trigger", (*MOVE, "trigger"), None, f"{MOVED}.trigger"),
    ("reason", (*MOVE, "reason"), 2**63, f"{MOVED}.reason"),
    ("outcome", (*MOVE, "outcome"), [], f"{MOVED}.outcome"),
    ("transition without outcome", MOVE, {"from": "idle", "trigger": "a", "to": "b", "reason": ""}, f"{MOVED}.outcome"),
    ("evaluations", (*MOVE, "outcome", "evaluations"), {}, f"{MOVED}.outcome.evaluations"),
    ("criterion", (*ASKED, "criterion"), {}, f"{SAID}.criterion"),
    ("decision", (*ASKED, "decision"), [], f"{SAID}.decision"),
    ("reason of a criterion", (*ASKED, "reason"), None, f"{SAID}.reason"),
    ("context", (*ASKED, "context"), [], f"{SAID}.context"),
    ("attempt order", ("turn", "attempts", 0, "index"), 2, "turn.attempts"),
    ("attempt kind", ("turn", "attempts", 0, "kind"), "<script>", "turn.attempts.0.kind"),
    ("attempt usage", ("turn", "attempts", 0, "usage"), {"output_tokens": {"a": 1}}, "turn.attempts.0.usage"),
    ("attempt usage below 0", ("turn", "attempts", 0, "usage"), {"output_tokens": -1}, "turn.attempts.0.usage"),
    ("status", ("turn", "attempts", 0, "status_code"), 10**6, "turn.attempts.0.status_code"),
    ("headers", ("turn", "attempts", 0, "response_headers"), {"a": {"b": []}}, "turn.attempts.0.response_headers"),
    ("content type", ("turn", "attempts", 0, "content_type"), "a" * 10_001, "turn.attempts.0.content_type"),
    ("address", ("turn", "attempts", 0, "request_url"), "http://a/" + "b" * 10_000, "turn.attempts.0.request_url"),
    ("first token", ("turn", "attempts", 0, "first_token_ms"), 10**14, "turn.attempts.0.first_token_ms"),
    ("duration", ("turn", "attempts", 0, "duration_ms"), -1, "turn.attempts.0.duration_ms"),
    ("event at no time", ("turn", "records", 1, "event", "at"), 10**400, "turn.records.1.event.at"),
    ("attempt error", ("turn", "attempts", 0, "error"), {"kind": 1}, "turn.attempts.0.error"),
    ("request", ("turn", "attempts", 0, "request"), '{"messages":[],"x":1}', "turn.attempts.0.request"),
    ("request is no object", ("turn", "attempts", 0, "request"), "[]", "turn.attempts.0.request"),
    ("request by reference", ("turn", "attempts", 0, "request"), REFERENCE, "turn.attempts.0.request"),
    ("setup by reference", ("turn", "setup", "setup"), json.loads(REFERENCE), "turn.setup"),
    ("beginning by reference", ("turn", "records", 0, "event", "setup"), json.loads(REFERENCE), BEGAN),
    ("messages by reference", ("turn", "records", 0, "event", "messages"), NIL, BEGAN),
    ("request is no JSON", ("turn", "attempts", 0, "request"), "{", "turn.attempts.0.request"),
    ("digest", ("turn", "attempts", 0, "request_sha256"), "0" * 64, "turn.attempts.0.request"),
    ("message", ("turn", "messages", 0), "no JSON", "turn.messages.0"),
    ("raw", ("turn", "attempts", 0, "chunks", 0, "raw"), "not base64!", "turn.attempts.0.chunks.0.raw"),
    ("document", ("turn", "documents"), [{"name": "a", "text": "b" * 1_000_001}], "documents"),
    ("comment", ("notes", "comments"), [EMPTY_COMMENT], "notes.comments.0.text"),
    ("tags", ("notes", "tags"), ["a" * 400], "notes.tags.0"),
    ("tag of nothing", ("notes", "tags"), ["fine", ""], "notes.tags.1"),
    ("tag of two lines", ("notes", "tags"), ["a\nb"], "notes.tags.0"),
    ("tags by the dozen", ("notes", "tags"), [f"t{n}" for n in range(21)], "notes.tags"),
]  # fmt: skip


@together
@pytest.mark.parametrize(("path", "value", "field"), [case[1:] for case in HOSTILE], ids=[case[0] for case in HOSTILE])
def test_a_hostile_file_is_refused_with_location_and_nothing_is_stored(
    cut: Turn, path: tuple[Any, ...], value: Any, field: str
):
    said = refused(changed(exported(cut), *path, to=value))
    assert field in said, said
    assert all("Traceback" not in words and words.endswith((".", "”.")) for words in said[field])


NO_FILES = {
    "nothing": b"",
    "an image": b"\x89PNG\r\n\x1a\n\x00\x00",
    "half a file": b'{"format": "whystop.turn", "version": 1, "turn": {',
    "a list": b"[1, 2, 3]",
    "a number": b"7",
    "no number": b'{"format": "whystop.turn", "version": NaN}',
    "endless": b'{"format": "whystop.turn", "version": 1e999}',
    "digits": b'{"format": "whystop.turn", "version": ' + b"9" * 10_000 + b"}",
    "deep": b'{"format": "whystop.turn", "a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "deep enough": b'{"format": "whystop.turn", "a": ' + b'{"a":' * 300 + b"1" + b"}" * 300 + b"}",
    "another coding": '{"format": "whystop.turn"}'.encode("utf-16"),
}


@pytest.mark.parametrize("name", [*NO_FILES, "too much"])
def test_an_input_that_is_not_a_turn_file_is_refused_in_a_sentence(db: None, name: str):
    content = b" " * 64_000_001 if name == "too much" else NO_FILES[name]
    (words,) = next(iter(refused(content).values()))
    assert words.endswith(".")


def test_a_damaged_file_is_detected_by_its_checksum(cut: Turn):
    file = exported(cut)
    file["turn"]["input_text"] += "!"
    assert "checksum" in refused(file)["sha256"][0]


def test_an_id_from_the_future_or_of_another_kind_is_not_kept(cut: Turn):
    file = changed(exported(cut), "turn", "agent", to="another")
    for wanted in ("ffffffff-ffff-7fff-bfff-ffffffffffff", "00000000-0000-4000-8000-000000000000"):
        made = brought({**signed(changed(file, "turn", "input_text", to=wanted)), "id": wanted}, unverified=True)
        assert made.turn.id != UUID(wanted)
        assert made.turn.id.version == 7


def test_imported_turns_never_wait_for_a_worker(cut: Turn):
    from dashboard.live.services import orphans_requeue

    file = exported(cut)
    erase(cut)
    brought(file)
    Turn.objects.update(created_at=datetime.now(UTC) - timedelta(days=1))
    assert orphans_requeue() == 0
