"""The stored data of a turn.

Turn            one row per turn: where it stands, a projection of its records
Record          its history, event → transitions → command: the truth, append-only
Outcome         one judgement of the history, for finding and counting; read out of the records by the database
Attempt         one call of the model, as it was sent and answered
AttemptChunk    a piece of an answer that was kept before the answer had ended
Piece           the answer's raw bytes, as they came; read out of both by the database, until their time is over
                (`Turn.keep_raw_days`)
Node            a message after those before it, in each form in which it was said; turns share them (`nodes`)
TurnMessage     the conversation in the provider's form, of turns from before there were nodes
ClientRequest   what a client of the gateway sent, of turns from before that was a node (`nodes.NodeForm.FRAME`)
Checkpoint      a snapshot every so many records, so that a long history folds quickly
ToolClaim       a tool that was started, whether or not it came back
Cohort          what turns that are alike in every facet have in common; kept by the database (migration 0007)

The large tables (Record, Attempt, AttemptChunk) are partitioned by `turn_id` (see `partitions`), and rows of a
turn carry its id without a foreign key. The database itself refuses to change history (migration 0002): rows are
deleted only where the transaction has said `SET LOCAL whystop.erasing = 'on'`.
"""

from dashboard.turns.models.calls import ANSWERED_BY, Attempt, AttemptChunk, Piece, PieceOfAnswer, ToolClaim
from dashboard.turns.models.conversation import ClientRequest, LooseNode, Node, TurnMessage
from dashboard.turns.models.history import Checkpoint, Judgement, Outcome, Record, StrayOutcome
from dashboard.turns.models.turn import UNFINISHED, Cohort, Turn

__all__ = [
    "ANSWERED_BY",
    "UNFINISHED",
    "Attempt",
    "AttemptChunk",
    "Checkpoint",
    "ClientRequest",
    "Cohort",
    "Judgement",
    "LooseNode",
    "Node",
    "Outcome",
    "Piece",
    "PieceOfAnswer",
    "Record",
    "StrayOutcome",
    "ToolClaim",
    "Turn",
    "TurnMessage",
]
