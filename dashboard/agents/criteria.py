"""A policy's own criteria: plain classes, found by dotted path in modules that `WHYSTOP_CRITERIA` lists (design §3.5).

A stored criterion is `{path, kwargs?}`: a name of `POLICY_CRITERIA`, or `module.Class`, and what it is built with. It
is given the `Snapshot` and answers by `decide(state)` or `explain(state)`, in words and numbers that JSON can hold.
"""

import importlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError

from agentcore.continuation_outcome import ContinuationCriteria, Criterion
from agentcore.criteria.builtin import ResponseContentCheck, WantsMore, built_in
from agentcore.evaluation import ContinuationDecision, ContinuationEvaluation
from agentcore.policy import CriterionSpec, Policy
from agentcore.quoting import quoted
from agentcore.reasons import StopReason
from agentcore.serial import to_json
from agentcore.snapshot import Snapshot
from dashboard.agents.policy_validation import listed

MAX_CRITERIA = 20
#: By these names the machine's own questions are found among the evaluations.
RESERVED = tuple(type(criterion).__name__ for criterion in built_in((), 0.0))


def response_content_check(*, message: str, min_chars: int = 0, must_contain: tuple[str, ...] = ()) -> Criterion:
    """Asks for another answer, saying `message`, while the text is too short or lacks one of `must_contain`."""
    words = must_contain if isinstance(must_contain, list | tuple) else None
    if not isinstance(message, str) or not message.strip():
        raise ValueError("message must be a text: the message that is sent to the model")
    if not isinstance(min_chars, int) or isinstance(min_chars, bool) or min_chars < 0:
        raise ValueError("min_chars must be a whole number of characters")
    if words is None or not all(isinstance(word, str) and word for word in words):
        raise ValueError("must_contain must be a list of texts")
    if not min_chars and not words:
        raise ValueError("set min_chars or must_contain; otherwise every text is accepted")
    return ResponseContentCheck(WantsMore(min_chars, tuple(words)), message)


#: The built-in criteria that a policy may name, by path. Those of every turn are `agentcore.criteria.builtin.built_in`.
POLICY_CRITERIA: Mapping[str, Callable[..., Criterion]] = {"ResponseContentCheck": response_content_check}


@dataclass(frozen=True, slots=True)
class ExternalCriterion:
    """A criterion from outside. It is called by its class, and what it says is held to what can be stored: what cannot
    be heard forbids."""

    name: str
    criterion: Criterion

    def explain(self, state: Snapshot) -> ContinuationEvaluation:
        try:
            (said,) = ContinuationCriteria(self.criterion).evaluate(state).evaluations
            return ContinuationEvaluation(
                self.name,
                said.decision,
                _text(said.reason),
                json.loads(json.dumps(to_json(dict(said.context)), allow_nan=False)),
                None if said.stop_reason is None else StopReason(said.stop_reason),
                None if said.message is None else _text(said.message),
            )
        except Exception as error:
            return _forbidden(self.name, f"{self.name} gave an evaluation that cannot be stored: {error}")


@dataclass(frozen=True, slots=True)
class FailedCriterion:
    """Stands where a criterion could not be built: like one that raises, it forbids, and says why."""

    name: str
    why: str

    def explain(self, state: Snapshot) -> ContinuationEvaluation:  # noqa: ARG002 - it has nothing to judge by
        return _forbidden(self.name, self.why)


def _forbidden(name: str, why: str) -> ContinuationEvaluation:
    return ContinuationEvaluation(name, ContinuationDecision.FORBID, why, stop_reason=StopReason.ERROR)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{quoted(value)} is not a text")
    return value


def criterion_of(spec: CriterionSpec) -> Criterion:
    """The criterion a policy names, or an `FailedCriterion` in its place."""
    name = spec.path.rpartition(".")[2]
    try:
        built = criterion_built(spec.path, spec.kwargs)
    except ValidationError as error:
        return FailedCriterion(name, " ".join(error.messages))
    return built if spec.path in POLICY_CRITERIA else ExternalCriterion(name, built)


def criteria_faults(policy: Policy) -> list[str]:
    """Why criteria of this policy cannot be asked, in words; empty where all can."""
    return [criterion.why for criterion in policy.criteria if isinstance(criterion, FailedCriterion)]


def criterion_built(path: str, kwargs: Mapping[str, Any]) -> Criterion:
    """Builds a criterion. Raises `ValidationError` with a sentence that names the problem."""
    make = POLICY_CRITERIA.get(path) or _class_at(path)
    try:
        criterion = make(**kwargs)
    except Exception as error:
        raise ValidationError(f"The criterion {quoted(path)} cannot be built with these arguments: {error}.") from error
    return criterion


def _class_at(path: str) -> Callable[..., Criterion]:
    module, _, name = path.rpartition(".")
    allowed = settings.CRITERIA_MODULES
    if module not in allowed:
        modules = f"WHYSTOP_CRITERIA lists {listed(allowed)}" if allowed else "WHYSTOP_CRITERIA lists no module"
        raise ValidationError(
            f"There is no criterion {quoted(path)}: it is not built in ({listed(POLICY_CRITERIA)}), and {modules}; a "
            "criterion is given as module.Class of a listed module."
        )
    try:
        found = getattr(importlib.import_module(module), name, None)
    except Exception as error:
        raise ValidationError(
            f"The module {quoted(module)} cannot be imported: {type(error).__name__}: {error}."
        ) from error
    return _checked(found, module, name)


def _checked(found: Any, module: str, name: str) -> Callable[..., Criterion]:
    # A listed module's imports are not listed: else it would offer every class that it happens to use.
    if not isinstance(found, type) or found.__module__ != module:
        raise ValidationError(f"The module “{module}” defines no class “{name}”.")
    if name in RESERVED:
        raise ValidationError(f"“{name}” is the name of a built-in criterion. Rename the class.")
    if not any(callable(getattr(found, method, None)) for method in ("explain", "decide")):
        raise ValidationError(f"The class “{module}.{name}” is not a criterion: it has neither decide nor explain.")
    return found


def criteria_clean(value: Any) -> list[dict[str, Any]]:
    """`[{path, kwargs?}]` as it is stored; every criterion of it can be built. Raises `ValidationError` in words."""
    if not isinstance(value, list) or len(value) > MAX_CRITERIA:
        raise ValidationError(
            f"criteria must be a list of at most {MAX_CRITERIA} objects such as "
            '`{"path": "module.Class", "kwargs": {"limit": 3}}`.'
        )
    clean: list[dict[str, Any]] = []
    errors: list[str] = []
    for number, given in enumerate(value, start=1):
        try:
            clean.append(_criterion_clean(given))
        except ValidationError as error:
            errors += [f"Criterion {number}: {message}" for message in error.messages]
    if errors:
        raise ValidationError(errors)
    return clean


def _criterion_clean(given: Any) -> dict[str, Any]:
    known = ("path", "kwargs")
    if not isinstance(given, Mapping):
        raise ValidationError(f"It must be an object with path and kwargs, not {quoted(given)}.")
    if unknown := [key for key in given if key not in known]:
        raise ValidationError(f"It has no field {quoted(unknown[0])}; its fields are {listed(known)}.")
    path, kwargs = given.get("path"), given.get("kwargs", {})
    if not isinstance(path, str):
        raise ValidationError("Its path must be a text: module.Class, or the name of a built-in criterion.")
    if not isinstance(kwargs, Mapping):
        raise ValidationError("Its kwargs must be an object: the arguments of the class, by name.")
    criterion_built(path, kwargs)
    return {"path": path, **({"kwargs": dict(kwargs)} if kwargs else {})}


def criteria_valid(value: Any) -> None:
    criteria_clean(value)
