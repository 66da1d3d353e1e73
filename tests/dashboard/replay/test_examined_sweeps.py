"""Sweeps, cells of the limits map and backtests are examined: every value that they are sure of is really run."""

from collections import Counter
from datetime import UTC, datetime
from uuid import uuid4

from agentcore import Policy, Recording, TurnStatus
from agentcore.replay import Certainty, Experience
from agentcore.values import replace
from dashboard.policies.backtests.recording_loader import TurnRow
from dashboard.policies.backtests.sweep_map import map_of
from dashboard.policies.backtests.turn_judgement import DraftPolicy, judge
from dashboard.replay.sweep_service import SweepRun
from tests.agentcore.replay.secretive_provider import CLASSES, Secretive, cap_of, drawn, policy_of, really

SURE = (Certainty.RECORDED, Certainty.CERTAIN)


def recorded(cases: range) -> list[tuple[str, int, Secretive, int, Recording]]:
    """Turns of every class, each with its provider and its first cap."""
    found = []
    for seed in cases:
        for name in CLASSES:
            model, chance = drawn(name, seed)
            cap = min(300, cap_of(chance, model))
            recording = really(model, cap, policy_of(chance, name))
            if recording is not None:
                found.append((name, seed, model, cap, recording))
    return found


def completes(model: Secretive, cap: int, policy: Policy) -> bool | None:
    """None where the turn does not end."""
    truth = really(model, cap, policy)
    return None if truth is None else truth.final.end.status is TurnStatus.COMPLETED


def row(recording: Recording) -> TurnRow:
    end, spent = recording.final.end, recording.final.spent
    return TurnRow(
        uuid4(),
        "openai",
        "m",
        None,
        datetime(2026, 1, 1, tzinfo=UTC),
        end.status.value,
        end.terminal_reason,
        recording.final.model_stop_reason,
        spent.input_tokens,
        spent.output_tokens,
        spent.estimated,
        spent.attempts,
        "{}",
        None,
    )


def test_every_value_a_sweep_is_certain_about_really_completes():
    named = 0
    for name, seed, model, cap, recording in recorded(range(12)):
        values = range(1, 90, 4)
        sweep = SweepRun(recording, recording.policy, "max_tokens", None, Experience()).sweep(values, cap)
        about = f"drawn({name!r}, {seed})"
        for point in sweep.points:
            if point.certainty in SURE:
                truth = completes(model, cap, replace(recording.policy, max_tokens=point.value))
                assert truth in (None, point.completed), f"{about} at {point.value}"
        if sweep.certain is None or sweep.certain.since is None:
            continue
        named += 1
        for value in range(sweep.certain.since, values[-1] + 1):
            assert completes(model, cap, replace(recording.policy, max_tokens=value)) is not False, (
                f"{about} at {value}"
            )
    assert named >= 10, "there is something to examine"


def test_certain_cells_of_a_map_come_true_and_their_counts_add_up():
    turns = recorded(range(100, 104))
    found, came_true = map_of([(row(recording), recording) for *_, recording in turns]), Counter()
    for continuations, cells in found.rows:
        for cell in cells:
            assert sum(cell.certainties.values()) == sum(cell.counts.values()) == len(cell.ended) == len(turns)
            for (name, seed, model, cap, recording), outcome in zip(turns, cell.ended, strict=True):
                if outcome.certainty not in [each.value for each in SURE]:
                    continue
                total = (continuations + 1) * cell.max_tokens
                limits = replace(
                    recording.policy.limits, max_continuations=continuations, max_total_completion_tokens=total
                )
                policy = replace(recording.policy, limits=limits, max_tokens=cell.max_tokens)
                truth = completes(model, cap, policy)
                assert truth in (None, outcome.word == "complete"), f"drawn({name!r}, {seed})"
                came_true[outcome.certainty] += 1
    assert min(came_true[each.value] for each in SURE) >= 3, "there is something to examine"


def test_certain_results_of_a_backtest_come_true():
    counts = Counter()
    for name, seed, model, cap, recording in recorded(range(200, 240)):
        _, chance = drawn(name, seed + 1)
        draft = DraftPolicy(policy_of(chance, name), chance.choice((None, cap_of(chance, model))), sound=True)
        told = row(recording)
        verdict = judge(told, recording, draft)
        counts[verdict.certainty or "undecidable"] += 1
        if verdict.certainty not in [each.value for each in SURE]:
            continue
        policy = draft.for_turn(told, recording.policy)
        assert policy is not None
        truth = really(model, cap, policy)
        assert truth is not None
        end = truth.final.end
        same = (end.status.value, end.terminal_reason) == (told.status, told.terminal_reason)
        assert verdict.word == ("same" if same else "flipped"), f"drawn({name!r}, {seed})"
    assert min(counts["recorded"], counts["certain"] * 5) >= 5, "there is something to examine"
