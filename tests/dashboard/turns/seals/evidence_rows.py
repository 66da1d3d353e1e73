"""A turn that has a row in every table of evidence that this release writes."""

from django.utils import timezone

from dashboard.accounts.models import User
from dashboard.agents.models import Policy, PolicyVersion
from dashboard.ingest.models import Ingested
from dashboard.ingest.turn_files.models import Origin
from dashboard.tools.models import TurnDocument
from dashboard.turns import models as turns
from dashboard.turns import nodes, recorder
from dashboard.turns.conversations.models import Conversation
from dashboard.turns.request_frames import split
from tests.dashboard.driving import Play
from tests.dashboard.gateway.stored_calls import call_stored

from .forging import as_superuser

#: An answer that came whole stands in the row of its attempt.
WITH_ATTEMPT = """
WITH whole AS (DELETE FROM turns_attemptchunk WHERE turn_id = %s AND attempt = 2 RETURNING *)
UPDATE turns_attempt SET raw = whole.raw, raw_text = whole.text, raw_at = whole.at
  FROM whole WHERE turns_attempt.turn_id = whole.turn_id AND index = 2
"""


def turn_with_all_rows(play: Play, parent: turns.Turn, user: User, n: int) -> turns.Turn:
    """An imported turn that leads to a row wherever one can. `n`: makes it another than the others."""
    turn = play("sim-essay", name=f"agent-{n}", max_tokens=60, system_prompt=f"Be brief, {n}.")
    policy = Policy.objects.create(project=turn.project, name=f"strict {n}")
    frame = nodes.grown(turn.project_id, None, {nodes.NodeForm.FRAME: [split(f"no JSON {n}".encode()).frame]})
    recorder.keep(frame)
    call_stored(turn, at=turn.created_at, status=200 + n, client_finish_reason="stop", answer_id=f"a{n}")
    turns.Turn.objects.filter(id=turn.id).update(
        created_by=user,
        parent=parent,
        policy_version=PolicyVersion.objects.create(policy=policy, version=1),
        conversation=Conversation.objects.create(project=turn.project, agent=turn.agent, agent_name=turn.agent_name),
        position=1 + n,
    )
    turns.ClientRequest.objects.create(turn_id=turn.id, frame_id=frame[-1].id)
    for k, finished_at in enumerate((timezone.now(), None)):
        turns.ToolClaim.objects.create(
            turn_id=turn.id, call_id=f"c{k}", name="t", idempotent=True, finished_at=finished_at, result=f"{n}"
        )
        TurnDocument.objects.create(turn=turn, n=k, name=f"document {k}", text=f"text {k} of {n}")
    Origin.objects.create(
        turn=turn, original_id=turn.id, sha256=str(n), exported_at=turn.created_at, imported_at=timezone.now(),
        imported_by=user,
    )  # fmt: skip
    Ingested.objects.create(
        turn=turn, project_id=turn.project_id, trace=turn.id, digest=b"", ingested_at=timezone.now()
    )
    as_superuser(WITH_ATTEMPT, turn.id)
    turn.refresh_from_db()
    return turn
