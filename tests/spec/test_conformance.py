"""The page of rules is made from the tests, and the tests cover every document."""

from collections import Counter

import pytest

from tests.spec import conformance
from tests.spec.decided_otherwise import DECIDED_OTHERWISE
from tests.spec.rules import DOCUMENTS, rule


def test_the_documentation_page_is_current() -> None:
    assert conformance.PAGE.read_text(encoding="utf-8") == conformance.page(), (
        "run: python -m tests.spec.conformance > docs/reference/conformance.md"
    )


def test_every_section_of_every_document_has_a_rule() -> None:
    sections = {(name, section) for name, document in DOCUMENTS.items() for section in document.sections}
    assert {(proof.rule.document, proof.rule.section) for proof in conformance.proofs()} == sections


def test_no_rule_is_listed_twice() -> None:
    counted = Counter((proof.rule.document, proof.rule.section, proof.rule.sentence) for proof in conformance.proofs())
    assert [what for what, times in counted.items() if times > 1] == []


def test_every_test_of_this_folder_proves_a_rule() -> None:
    marked = {(proof.file, proof.test) for proof in conformance.proofs()}
    for path in conformance.HERE.rglob("test_*.py"):
        if path.parent == conformance.HERE:
            continue
        file = path.relative_to(conformance.ROOT).as_posix()
        named = [
            line.split("(")[0].split()[-1] for line in path.read_text().splitlines() if line.startswith("def test_")
        ]
        assert [name for name in named if (file, name) not in marked] == [], file


def test_a_mark_quotes_a_section_that_exists() -> None:
    with pytest.raises(ValueError, match="rfc-0033 §Z"):
        rule("rfc-0033 §Z", "A rule of no section")


def test_every_decision_quotes_a_section_that_exists() -> None:
    for decision in DECIDED_OTHERWISE:
        rule(decision.place, decision.holds)
        assert decision.design.startswith("§")
