"""What the documents of `spec/` ask for, as a register: every rule stands on the test that shows it kept.

`@rule("rfc-0033 §B", "A truncation retry requests a larger budget")` above a test is all it takes;
docs/reference/conformance.md is made from these marks.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

Test = TypeVar("Test", bound=Callable[..., Any])
_MARK = "__spec_rules__"


class Kind(StrEnum):
    """How binding a rule is. `DEFAULT`: a value that holds while nobody says otherwise."""

    MUST = "must"
    SHOULD = "should"
    MAY = "may"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Document:
    """One file of `spec/`, and the sections rules are quoted from, in their order, by the document's own headings."""

    file: str
    sections: tuple[str, ...]


#: Every document, by the name that rules quote it with.
DOCUMENTS: Mapping[str, Document] = {
    "stop-reason-state-machine": Document(
        "stop-reason-state-machine.md",
        (
            "Stop-Reason Model",
            "Provider Mapping Matrix",
            "Goals",
            "State diagram",
            "Hard limits",
            "Partial Tool-Call JSON Policy",
            "Recovery prompt contract",
            "Observability Requirements",
            "Metrics",
            "Config layer",
            "Verification",
        ),
    ),
    "continuation-and-error-policy": Document(
        "continuation-and-error-policy.md",
        (
            "ContinuationDecision",
            "StopReason",
            "ContinuationEvaluation",
            "ContinuationOutcome",
            "ContinuationCriteria",
            "ErrorType",
            "ErrorHandlingDecision",
            "ErrorContext",
            "CanResolveErrorContext",
            "ErrorPolicy",
            "ErrorPolicyCriterion",
            "Base Criteria",
            "Events",
            "Behavior Compatibility",
        ),
    ),
    "finish-reason-canonicalization": Document(
        "finish-reason-canonicalization.md",
        ("Acceptance 1", "Acceptance 2", "Acceptance 3", "Acceptance 4", "Acceptance 5", "Tracker", "Telemetry"),
    ),
    "agent-loop": Document(
        "agent-loop-stop-reason.ja.md",
        (
            "stop_reason の値",
            "プロバイダーごとの stop_reason 判定",
            "実際のコード",
            "状態遷移表",
            "各プロバイダーの元の値",
            "デバッグ出力",
        ),
    ),
    "rfc-0033": Document(
        "rfc-0033-envelope-completion.md",
        ("A", "B", "C", "D", "E", "F", "G", "H", "Conformance"),
    ),
}


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule, in our words, and where the document says it."""

    document: str
    section: str
    sentence: str
    kind: Kind


def rule(place: str, sentence: str, kind: Kind = Kind.MUST) -> Callable[[Test], Test]:
    """Marks a test with the rule it proves. `place`: `document §section`, both as `DOCUMENTS` names them.

    Raises ValueError where no such section is registered.
    """
    document, _, section = place.partition(" §")
    if section not in DOCUMENTS.get(document, Document("", ())).sections:
        raise ValueError(f"There is no “{place}” among the documents; see DOCUMENTS in tests/spec/rules.py.")

    def mark(test: Test) -> Test:
        setattr(test, _MARK, (Rule(document, section, sentence, kind), *rules_of(test)))
        return test

    return mark


def rules_of(test: object) -> tuple[Rule, ...]:
    """The rules a test is marked with, the uppermost first."""
    marked: tuple[Rule, ...] = getattr(test, _MARK, ())
    return marked
