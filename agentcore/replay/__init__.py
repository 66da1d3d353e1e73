"""Operations on a recording: verify it, run a what-if on it, fork it at a record.

recording           a history as a value; `recording_json` is its JSON, and says what no JSON holds
verify              the same events must give the same transitions, evaluations and commands; where two runs part
certainty           how sure a what-if is, and what it assumes
what_if             the recording answers the commands of a machine under another policy; `work_budget` bounds it
recorded_run        the recorded run once more, for what records do not hold; kept for the next what-if
recorded_calls      its calls and tool results, by occurrence; `request_comparison` compares what they ask for
recorded_operators  what operators did in it, by occurrence
answer_tape         its text, iteration by iteration, and what each stretch of it cost; the tapes of all its calls
recorded_answers    what it answers to one call (`pending_call`): a failure, the same request, or what `tape_reader`
                    reads off the tape, as `tape_answers` puts it
assumptions         the assumptions of a run, at the low or at the high end of their ranges
record_spans        what the turn knew before and after each record
recorded_judgement  criteria and a resolver from outside, answering again what was recorded of them
legacy_sentences    what records of earlier rules hold in a stored sentence alone
fork                the snapshot after record n, under another policy

A re-run is a driver's work; what it starts from is a fork.
"""

from agentcore.replay.certainty import Assumed, Assumption, Certainty, Experience, Observed, Pace, Why
from agentcore.replay.fork import beginning, fork, unforkable
from agentcore.replay.record_spans import Span, fold
from agentcore.replay.recorded_judgement import as_judged, step_again
from agentcore.replay.recording import Provenance, Record, Recording, WhatIf
from agentcore.replay.recording_json import recording_from_json, recording_to_json
from agentcore.replay.verify import Divergence, Verification, first_divergence, verify
from agentcore.replay.what_if import what_if

__all__ = [
    "Assumed",
    "Assumption",
    "Certainty",
    "Divergence",
    "Experience",
    "Observed",
    "Pace",
    "Provenance",
    "Record",
    "Recording",
    "Span",
    "Verification",
    "WhatIf",
    "Why",
    "as_judged",
    "beginning",
    "first_divergence",
    "fold",
    "fork",
    "recording_from_json",
    "recording_to_json",
    "step_again",
    "unforkable",
    "verify",
    "what_if",
]
