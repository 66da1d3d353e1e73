"""The derivation of a stored turn, with whose word each clause was: the policy's row and version beside it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentcore.replay import Span, fold
from agentcore.values import replace
from agentcore.why import Derivation, Fact, Kind, Node, derive, lines_of, roads_taken_past
from dashboard.policies.field_sources import Source, sources_of
from dashboard.turns.history import recording_of
from dashboard.turns.models import Turn
from dashboard.turns.verdicts import resource_now, verdict_now


@dataclass(frozen=True, slots=True)
class Why:
    """Why a turn ended. `sources`: by the name of a clause, whose word it was."""

    derivation: Derivation
    sources: Mapping[str, Source]

    def source(self, node: Node) -> Source | None:
        """Whose word a clause was; None for other nodes, and where an operator had changed it while the turn ran."""
        if node.kind is not Kind.CLAUSE or node.fact("changed_by") is not None:
            return None
        return self.sources.get(node.name)

    @property
    def lines(self) -> list[str]:
        """The tree as text, with whose word each clause was."""
        return list(lines_of(self._told(self.derivation.tree)))

    def _told(self, node: Node) -> Node:
        source = self.source(node)
        words = f"{node.words}, {_whose(source)}" if source else node.words
        return replace(node, words=words, because=tuple(map(self._told, node.because)))


def why_of(turn: Turn, derivation: Derivation | None) -> Why | None:
    """The derivation with the turn's sources; None where there is none."""
    if derivation is None:
        return None
    clauses = {node.name for node in derivation.tree.walk() if node.kind is Kind.CLAUSE}
    sources = sources_of(turn) if clauses else ()
    return Why(derivation, {source.field: source for source in sources if source.field in clauses})


def derivation_of(turn: Turn) -> Why | None:
    """The derivation of a turn, from its history; None while it runs, and where nothing is recorded of it."""
    return why_of(turn, derive(recording_of(turn)))


def _whose(source: Source) -> str:
    if source.is_default:
        return "the default"
    whose = f"policy {source.policy} v{source.version}, {source.words}" if source.policy else source.words
    return f"{whose} ({source.of})" if source.of and source.policy else whose


def why_told(turn: Turn, why: Why | None) -> dict[str, Any]:
    """As the API tells it: the sentence, the reasons apart, and the tree."""
    derivation = why.derivation if why else None
    return {
        "verdict": verdict_now(turn),
        "loop_reason": turn.stop_reason,
        "terminal_reason": turn.terminal_reason,
        "resource": resource_now(turn),
        "model_reason": turn.model_stop_reason,
        "raw_model_reason": turn.raw_stop_reason,
        "clause": derivation.clause if derivation else None,
        "decided_at": {"seq": derivation.seq, "number": derivation.number} if derivation else None,
        "tree": _node_told(why, derivation.tree) if why and derivation else None,
    }


def _node_told(why: Why, node: Node) -> dict[str, Any]:
    source = why.source(node)
    return {
        "kind": node.kind.value,
        "name": node.name,
        "words": node.words,
        "facts": [_fact_told(fact) for fact in node.facts],
        "source": source.told() if source else None,
        "because": [_node_told(why, child) for child in node.because],
    }


def _fact_told(fact: Fact) -> dict[str, Any]:
    return {"name": fact.name, "value": fact.value, "unit": fact.unit, "estimated": fact.estimated}


def roads_told(turn: Turn) -> list[dict[str, Any]]:
    """Every step out of a deciding state with the roads it did not take, as the API tells it."""
    return steps_told(fold(recording_of(turn)))


def steps_told(spans: tuple[Span, ...]) -> list[dict[str, Any]]:
    """The alternative transitions of a history already loaded."""
    return [
        {
            "seq": case.seq,
            "number": case.number,
            "from": case.source.value,
            "trigger": case.trigger.value,
            "to": case.target.value,
            "roads": [
                {
                    "trigger": road.trigger.value,
                    "to": road.target.value,
                    "guard": road.guard,
                    "open": road.open,
                    "miss": road.miss,
                    "near": road.near,
                }
                for road in roads
            ],
        }
        for case, roads in roads_taken_past(spans)
    ]
