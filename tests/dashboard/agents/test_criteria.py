"""A policy's own criteria: what may be named, what is built, and what stands in place of what cannot be."""

import json
import re
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ValidationError

from agentcore import ContinuationDecision, StopReason
from agentcore.criteria.builtin import ResponseContentCheck
from agentcore.policy import CriterionSpec
from agentcore.serial import to_json
from agentcore.snapshot import Snapshot
from dashboard.agents.criteria import (
    MAX_CRITERIA,
    RESERVED,
    ExternalCriterion,
    FailedCriterion,
    criteria_clean,
    criterion_of,
)
from dashboard.agents.policies import draft_policy, stored_policy
from tests.dashboard.own_criteria import NAME

DOCS = Path(__file__).parents[3] / "docs" / "how-to" / "criteria.md"
DOCS_EXAMPLES = re.compile(r"```python\n(.*?)```.*```json\n(.*?)```", re.DOTALL)
LENGTH = {"path": "ResponseContentCheck", "kwargs": {"message": "Say more.", "min_chars": 5}}


@pytest.fixture(autouse=True)
def listed(settings):
    settings.CRITERIA_MODULES = (NAME, "tests.dashboard.nowhere")


def test_criteria_are_stored_as_their_path_and_arguments():
    given = [{"path": f"{NAME}.Veto", "kwargs": {}}, {"path": f"{NAME}.Patience", "kwargs": {"calls": 2}}, LENGTH]
    assert criteria_clean(given) == [{"path": f"{NAME}.Veto"}, *given[1:]]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, f"a list of at most {MAX_CRITERIA} objects"),
        ([LENGTH] * (MAX_CRITERIA + 1), "at most"),
        (["Veto"], "Criterion 1: It must be an object with path and kwargs"),
        ([{"path": f"{NAME}.Veto", "args": []}], "no field “args”; its fields are path, kwargs"),
        ([{}], "Its path must be a text"),
        ([{"path": f"{NAME}.Veto", "kwargs": [1]}], "Its kwargs must be an object"),
        ([{"path": "Veto"}], "not built in .ResponseContentCheck.*, and WHYSTOP_CRITERIA lists tests.dashboard.own"),
        ([{"path": ""}], "no criterion “”"),
        ([{"path": "os.system", "kwargs": {"command": "true"}}], "no criterion “os.system”"),
        ([{"path": f"{NAME}.Path"}], f"“{NAME}” defines no class “Path”"),
        ([{"path": f"{NAME}.not_a_class"}], "defines no class “not_a_class”"),
        ([{"path": f"{NAME}.Veto.decide"}], "no criterion"),
        ([{"path": f"{NAME}.Silent"}], "is not a criterion: it has neither decide nor explain"),
        ([{"path": "tests.dashboard.nowhere.Veto"}], "“tests.dashboard.nowhere” cannot be imported: ModuleNotFound"),
        ([{"path": f"{NAME}.Patience", "kwargs": {"calls": 0}}], "with these arguments: calls must be at least 1"),
        ([{"path": f"{NAME}.Patience", "kwargs": {"tries": 1}}], "unexpected keyword argument 'tries'"),
        ([{"path": "ResponseContentCheck"}], "missing 1 required keyword-only argument: 'message'"),
        ([{"path": "ResponseContentCheck", "kwargs": {"message": " ", "min_chars": 1}}], "message must be a text"),
        ([{"path": "ResponseContentCheck", "kwargs": {"message": "m"}}], "set min_chars or must_contain"),
        ([{"path": "ResponseContentCheck", "kwargs": {"message": "m", "min_chars": True}}], "whole number"),
        ([{"path": "ResponseContentCheck", "kwargs": {"message": "m", "must_contain": "abc"}}], "list of texts"),
        ([{"path": "ResponseContentCheck", "kwargs": {"message": "m", "must_contain": [1]}}], "list of texts"),
    ],
)
def test_a_criterion_that_cannot_be_built_is_refused_with_an_explanation(given, words):
    with pytest.raises(ValidationError, match=words):
        criteria_clean(given)


def test_all_faults_are_reported_at_once_by_number():
    with pytest.raises(ValidationError) as refused:
        criteria_clean([{"path": "a"}, LENGTH, {"path": "b.C"}])
    assert [message[:12] for message in refused.value.messages] == ["Criterion 1:", "Criterion 3:"]


def test_without_a_listed_module_the_message_says_so(settings):
    settings.CRITERIA_MODULES = ()
    with pytest.raises(ValidationError, match="WHYSTOP_CRITERIA lists no module"):
        criteria_clean([{"path": f"{NAME}.Veto"}])


def test_a_class_with_a_name_reserved_by_the_machine_is_refused(monkeypatch):
    module = sys.modules[NAME]
    for name in RESERVED:
        impostor = type(name, (), {"decide": lambda self, state: None, "__module__": NAME})
        monkeypatch.setattr(module, name, impostor, raising=False)
        with pytest.raises(ValidationError, match="Rename the class"):
            criteria_clean([{"path": f"{NAME}.{name}"}])
    assert {"TruncationCriterion", "EnvelopeCriterion", "ErrorPolicyCriterion"} < set(RESERVED)


def test_a_module_that_fails_to_import_is_reported_in_a_sentence(tmp_path, monkeypatch, settings):
    (tmp_path / "broken_criteria.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    settings.CRITERIA_MODULES = ("broken_criteria",)
    with pytest.raises(ValidationError, match="cannot be imported: ZeroDivisionError: division by zero"):
        criteria_clean([{"path": "broken_criteria.Veto"}])


def test_the_built_in_content_check_needs_no_listed_module(settings):
    settings.CRITERIA_MODULES = ()
    spec = CriterionSpec("ResponseContentCheck", {"message": "Say more.", "min_chars": 5, "must_contain": ["end"]})
    criterion = criterion_of(spec)
    assert isinstance(criterion, ResponseContentCheck)
    said = criterion.explain(Snapshot())
    assert (said.decision, said.message) == (ContinuationDecision.REQUEST, "Say more.")


def test_the_example_of_the_docs_is_a_valid_criterion(tmp_path, monkeypatch, settings):
    code, example = DOCS_EXAMPLES.search(DOCS.read_text(encoding="utf-8")).groups()
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours" / "criteria.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    settings.CRITERIA_MODULES = ("ours.criteria",)
    given = json.loads(example)["criteria"]
    assert criteria_clean(given) == given
    said = criterion_of(CriterionSpec(**given[0])).explain(Snapshot())
    assert (said.criterion, said.decision, said.reason) == ("CallsLimit", "allow", "0 of 3 calls")


def test_a_criterion_without_a_reason_is_given_one():
    said = criterion_of(CriterionSpec(f"{NAME}.Veto")).explain(Snapshot())
    assert (said.criterion, said.decision, said.reason) == ("Veto", "forbid", "Veto forbade continuation")


@pytest.mark.parametrize("kind", ["object", "nan", "context", "name", "reason", "stop_reason", "nothing", "word", "?"])
def test_an_evaluation_that_cannot_be_stored_forbids_with_an_error(kind):
    criterion = criterion_of(CriterionSpec(f"{NAME}.Unstorable", {"kind": kind}))
    assert isinstance(criterion, ExternalCriterion)
    said = criterion.explain(Snapshot())
    assert (said.criterion, said.decision, said.stop_reason) == ("Unstorable", "forbid", StopReason.ERROR)
    assert "Unstorable" in said.reason


def test_a_criterion_no_longer_listed_forbids_with_an_error_that_says_why(settings):
    body = to_json(draft_policy({"criteria": [{"path": f"{NAME}.Patience", "kwargs": {"calls": 3}}]}))
    assert isinstance(stored_policy(body).criteria[0], ExternalCriterion)
    settings.CRITERIA_MODULES = ()
    (missing,) = stored_policy(body).criteria
    assert isinstance(missing, FailedCriterion)
    said = missing.explain(Snapshot())
    assert (said.criterion, said.decision, said.stop_reason) == ("Patience", "forbid", StopReason.ERROR)
    assert said.reason.startswith(f"There is no criterion “{NAME}.Patience”")
