"""Writes: live re-runs from the start, from any record, or from where a what-if became undecidable.

The new turn is stored with the old one as its parent. Its beginning is the parent's own `started` event, or a snapshot
of the parent's; what is said otherwise is written into that beginning, and its numbers into its policy.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from django.core.exceptions import ValidationError

from agentcore import serial
from agentcore.errors import RecordingError
from agentcore.events import Breakpoint, Setup
from agentcore.policy import Policy
from agentcore.replay import Provenance, beginning, fork
from agentcore.snapshot import Snapshot
from agentcore.values import replace
from dashboard.accounts.models import User
from dashboard.agents.breakpoints import breakpoints_clean
from dashboard.agents.models import Connection
from dashboard.agents.policies import overridden, stored_policy
from dashboard.agents.policy_resolution import overridden_sources
from dashboard.agents.validation import max_tokens_within
from dashboard.live.services import overrides_clean, turn_queue
from dashboard.replay.forecaster import Purpose, forecaster, kept_with
from dashboard.replay.rerun_changes import (
    ChangedConversation,
    RerunChanges,
    connection_asked,
    conversation,
    left_out,
    said_at,
    supplied,
)
from dashboard.replay.selectors import began_with
from dashboard.replay.services import turn_what_if
from dashboard.tools.selectors import wire_name_of
from dashboard.turns.history import recording_of
from dashboard.turns.models import Turn
from dashboard.turns.sent_caps import sent_cap

GONE = (
    "This turn has no agent, or its agent was deleted, and no connection with its address is known, so it cannot be "
    "re-run. It can still be read, verified and tried under other limits; to run it, create an agent and start a turn "
    "with the same input."
)
NO_WORDS = RerunChanges()


def turn_rerun(
    *,
    turn: Turn,
    overrides: Mapping[str, Any],
    from_record: int | None = None,
    created_by: User | None = None,
    words: RerunChanges = NO_WORDS,
    purpose: Purpose | None = None,
) -> Turn:
    """The turn once more under other numbers and words, from the start or from the state after record `from_record`.

    What the recording predicts for it is stored with it. Raises `ValidationError`, by field and in words, before
    anything is stored.
    """
    connection = connection_asked(turn, words.connection, gone=GONE)
    wanted = overrides_clean(overrides, connection)
    policy = overridden(stored_policy(turn.policy), wanted)
    child = _child(turn, policy, wanted, connection, created_by)
    if from_record:
        child.forked_at = from_record
        base = _forked(turn, from_record, policy, str(child.id))
        _begin_from(child, base, words, connection)
    else:
        _begin_anew(child, turn, words, connection)
    purpose = purpose or forecaster.value.RERUN
    said = forecaster.value.predicted(parent=turn, child=child, wanted=wanted, purpose=purpose)
    return kept_with(child, said, partial(turn_queue, queue=purpose.queue))


def turn_go_on(*, turn: Turn, overrides: Mapping[str, Any], created_by: User | None = None) -> Turn:
    """Live on from where the what-if under these numbers had no recorded answer any more."""
    connection = connection_asked(turn, None, gone=GONE)
    what_if = turn_what_if(turn=turn, overrides=overrides)
    found = what_if.without_estimates
    if not what_if.undecidable or found.final is None or not found.records:
        raise ValidationError("With these limits the recording is complete, so there is nothing to continue live.")
    wanted = overrides_clean(overrides, connection)
    child = _child(turn, found.policy, wanted, connection, created_by)
    child.forked_at = max(1, sum(record.provenance is Provenance.RECORDED for record in found.records))
    _begin_from(child, beginning(found.final, str(child.id)), NO_WORDS, connection)
    estimates = len(what_if.recording.records) - len(found.records)
    child.overrides = {**child.overrides, "said": {"went_on": True, **({"estimates": estimates} if estimates else {})}}
    said = forecaster.value.predicted_on(parent=turn, child=child, found=found, wanted=wanted)
    return kept_with(child, said, turn_queue)


def _child(
    turn: Turn, policy: Policy, wanted: Mapping[str, Any], connection: Connection, created_by: User | None
) -> Turn:
    return Turn(
        project=turn.project,
        agent=turn.agent,
        agent_name=turn.agent_name,
        provider=connection.provider,
        model=policy.model or turn.model,
        input_text=turn.input_text,
        max_tokens=policy.max_tokens or turn.max_tokens,
        policy_version=turn.policy_version,
        policy=serial.to_json(policy),
        policy_sources=None if turn.policy_sources is None else overridden_sources(turn.policy_sources, wanted),
        overrides=_merged(turn.overrides, wanted, turn, connection),
        keep_raw_days=(wanted.get("retention") or {}).get("keep_raw_days", turn.keep_raw_days),
        parent=turn,
        run_id=turn.run,
        follows=turn.follows,
        created_by=created_by,
    )


def _merged(before: Mapping[str, Any], wanted: Mapping[str, Any], turn: Turn, connection: Connection) -> dict[str, Any]:
    """What was asked for beside the policy, over all generations; `said` is each generation's own."""
    kept = {key: value for key, value in before.items() if key not in ("said", "connection")}
    deep = {key: {**kept.get(key, {}), **wanted[key]} for key in ("limits",) if key in wanted}
    theirs = turn.agent is not None and turn.agent.connection == connection
    return {**kept, **wanted, **deep, **({} if theirs else {"connection": connection.name})}


def _begin_anew(child: Turn, turn: Turn, words: RerunChanges, connection: Connection) -> None:
    """The parent's beginning, under the new turn's id. A fork's beginning is its own parent's."""
    began = began_with(turn)
    setup = said_at(began.setup, connection)
    said = conversation(began.messages, words, child.input_text)
    if words.results:
        raise ValidationError({"results": "At the start no tool has been called yet; choose a later record."})
    _within(child, setup, connection)
    child.breakpoints = _breakpoints(turn, words) if words.breakpoints is not None else turn.breakpoints
    child.setup = {
        "setup": serial.to_json(replace(setup, turn_id=str(child.id), parent=str(turn.id))),
        "messages": [serial.to_json(message) for message in said.messages],
    }
    _say(child, said, words, left_out(began.setup, connection.provider))


def _begin_from(child: Turn, base: Snapshot, words: RerunChanges, connection: Connection) -> None:
    said = conversation(base.messages, words, child.input_text)
    setup = said_at(base.asked, connection)
    call = base.call
    if call is not None and setup.provider != base.asked.provider:
        if call.echo:
            raise ValidationError(
                {
                    "connection": f"This request returns {base.asked.provider}'s own paused answer, which no other "
                    "provider accepts. Keep the connection, or choose an earlier record."
                }
            )
        call = replace(call, resume_token=None)
    _within(child, setup, connection)
    given = tuple(Breakpoint(**b) for b in _breakpoints(child, words)) if words.breakpoints is not None else None
    begun = replace(
        base,
        setup=replace(setup, parent=str(child.parent_id)),
        call=call,
        messages=said.messages,
        supplied=supplied(base, words),
        breakpoints=base.breakpoints if given is None else given,
    )
    by = child.created_by.get_username() if child.created_by else "fork"
    child.base_snapshot, child.setup = serial.to_json(begun), {"by": by}
    _say(child, said, words, left_out(base.asked, connection.provider))


def _say(child: Turn, said: ChangedConversation, words: RerunChanges, lost: list[str]) -> None:
    """What the lineage tells of this generation, beside its numbers. `lost`: the caller's fields that are not sent."""
    child.input_text = said.input_text
    told = {
        "messages": list(said.changed),
        "results": sorted(words.results),
        "breakpoints": None if words.breakpoints is None else len(words.breakpoints),
        "left_out": lost,
    }
    if any(told.values()):
        child.overrides = {**child.overrides, "said": {key: value for key, value in told.items() if value}}


def _within(child: Turn, setup: Setup, connection: Connection) -> None:
    """The cap that is sent is the one that is stated. A smaller ceiling than the turn was asked under is said, not
    silently kept to."""
    asked = child.policy.get("max_tokens") or sent_cap(setup)
    child.max_tokens = asked and (child.max_tokens or asked)
    if asked is None:
        return
    try:
        max_tokens_within(asked, ceiling=connection.ceiling, connection=connection.name)
    except ValidationError as error:
        raise ValidationError({"max_tokens": error}) from error


def _breakpoints(turn: Turn, words: RerunChanges) -> list[dict[str, Any]]:
    tools = turn.agent.tools if turn.agent else ()
    try:
        clean = breakpoints_clean(words.breakpoints or (), tools=tools)
    except ValidationError as error:
        raise ValidationError({"breakpoints": error}) from error
    return [{**b, "tool": wire_name_of(b["tool"])} if "tool" in b else b for b in clean]


def _forked(turn: Turn, seq: int, policy: Policy, turn_id: str) -> Snapshot:
    try:
        return fork(recording_of(turn), seq, policy, turn_id)
    except RecordingError as error:
        raise ValidationError({"from_record": str(error)}) from error
