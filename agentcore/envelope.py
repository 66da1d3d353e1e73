"""Reading a structured answer: one JSON value, found directly or by local recovery, and validated.

spec: rfc-0033-envelope-completion; decisions: design §3.7. Recovery happens before validation and costs no retry.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from jiter import from_json

from agentcore import schema_violations
from agentcore.policy import EnvelopeRules, Policy, RecoveryPath, Repairer, Violation


@dataclass(frozen=True, slots=True)
class Payload:
    """The JSON value that was read, how it was found, and the byte of the text at which it begins."""

    value: Any  #: JSON types
    path: RecoveryPath  #: how it was found
    byte_offset: int  #: in the text as UTF-8


_FENCE = re.compile(r"```(?:json)?[ \t]*\r?\n(.*?)```", re.DOTALL | re.IGNORECASE)
#: Where JSON may begin in prose. A list only at the beginning of a line, for prose has brackets of its own.
_OPENING = re.compile(r"\{|^[ \t]*\[", re.MULTILINE)

_DEFAULT_PATHS = EnvelopeRules().recovery


def read_payload(
    text: str, recovery: Sequence[RecoveryPath] = _DEFAULT_PATHS, repair: Repairer | None = None
) -> Payload | None:
    """The JSON in the text: the text itself, or an object or array found by one of the `recovery` paths.

    None if there is no complete JSON. The order is fixed: the path that changes the text least comes first, `repair`
    last.
    """
    for path, start, candidate in _candidates(text, recovery, repair):
        try:
            value = from_json(candidate.encode("utf-8", "surrogatepass"), allow_inf_nan=False)
        except ValueError:
            continue
        if path is RecoveryPath.DIRECT or isinstance(value, dict | list):
            return Payload(value, path, len(text[:start].encode("utf-8", "surrogatepass")))
    return None


def _candidates(
    text: str, recovery: Sequence[RecoveryPath], repair: Repairer | None
) -> Iterator[tuple[RecoveryPath, int, str]]:
    yield RecoveryPath.DIRECT, 0, text.strip()
    if RecoveryPath.MARKDOWN_FENCE in recovery:
        yield from ((RecoveryPath.MARKDOWN_FENCE, m.start(1), m.group(1)) for m in _FENCE.finditer(text))
    if RecoveryPath.BRACE_WALKER in recovery:
        yield from ((RecoveryPath.BRACE_WALKER, start, text[start:end]) for start, end in _braces(text))
    if RecoveryPath.JSONREPAIR in recovery and repair is not None:
        yield from ((RecoveryPath.JSONREPAIR, start, repair(text[start:end])) for start, end in _broken(text))


def _broken(text: str) -> Iterator[tuple[int, int]]:
    """Where a repair is worth trying: fenced blocks, then all from the first bracket on. Prose has none."""
    for found in _FENCE.finditer(text):
        if _OPENING.search(found.group(1)):
            yield found.span(1)
    if opening := _OPENING.search(text):
        yield opening.start(), len(text)


def _braces(text: str) -> list[tuple[int, int]]:
    """The first balanced object of the text, brackets inside strings not counted."""
    start = text.find("{")
    if start < 0:
        return []
    depth, quoted, escaped = 0, False, False
    for index in range(start, len(text)):
        character = text[index]
        if quoted:
            quoted = character != '"' or escaped
            escaped = character == "\\" and not escaped
        elif character == '"':
            quoted = True
        elif character in "{}":
            depth += 1 if character == "{" else -1
            if depth == 0:
                return [(start, index + 1)]
    return []


class EnvelopeFault(StrEnum):
    """Why a structured answer is not complete. `envelope.retry.attempted` uses these values."""

    TRUNCATION = "truncation"  #: it was truncated; takes precedence over the other faults
    SCHEMA_VIOLATION = "schema-violation"  #: JSON that the schema does not allow
    PARSE_ERROR = "parse-error"  #: no JSON, although the model ended naturally
    REFUSAL = "refusal"  #: the provider refused; never retried
    UNKNOWN = "unknown"  #: it could not be validated, because the validator failed


@dataclass(frozen=True, slots=True)
class EnvelopeReading:
    """The result of reading a structured answer. `fault` None: complete, and `value` is the envelope."""

    fault: EnvelopeFault | None  #: why it is not complete
    value: Any = None  #: the accepted value, where there is no fault
    violations: tuple[Violation, ...] = ()  #: all of the payload's
    payload: Payload | None = None  #: what was read, accepted or not
    told: str = ""  #: the violations, described by the schema; empty under policies of earlier releases
    cut: bool = False  #: it is complete, although the provider truncated the call: only the end marker is missing
    problem: str = ""  #: the name of the exception that the validator raised; its message may quote the answer

    @property
    def summary(self) -> str:
        """The fault in words, without any text of the model."""
        match self.fault:
            case None:
                return "complete"
            case EnvelopeFault.TRUNCATION:
                return "the answer was cut before its end"
            case EnvelopeFault.PARSE_ERROR:
                return "the answer is not JSON"
            case EnvelopeFault.REFUSAL:
                return "the provider refused"
            case EnvelopeFault.UNKNOWN:
                return f"the answer could not be judged ({self.problem})"
            case EnvelopeFault.SCHEMA_VIOLATION:
                return self.told or "; ".join(f"{v.schema_pointer or '/'} ({v.keyword})" for v in self.violations[:5])


def read_envelope(text: str, schema: Mapping[str, Any], policy: Policy, *, clean: bool) -> EnvelopeReading:
    """Read and validate a structured answer by the policy's rules. `clean`: the model ended naturally. Otherwise any
    fault counts as truncation and nothing is repaired, because a repair would pass off half an answer as complete."""
    payload = read_payload(text, policy.envelope.recovery, policy.repair if clean else None)
    if payload is None:
        return EnvelopeReading(EnvelopeFault.PARSE_ERROR if clean else EnvelopeFault.TRUNCATION)
    violations = _violations(schema, payload.value, policy)
    if violations:
        fault = EnvelopeFault.SCHEMA_VIOLATION if clean else EnvelopeFault.TRUNCATION
        words = _violations_in_words(schema, payload.value, violations, policy.revision or 0)
        return EnvelopeReading(fault, violations=violations, payload=payload, told=words)
    return EnvelopeReading(None, payload.value, payload=payload)


def _violations_in_words(
    schema: Mapping[str, Any], value: Any, violations: tuple[Violation, ...], revision: int
) -> str:
    """In the words of these rules; empty before rules were numbered."""
    return schema_violations.violations_text(schema, value, violations, later=revision >= 7) if revision else ""


def _violations(schema: Mapping[str, Any], value: Any, policy: Policy) -> tuple[Violation, ...]:
    """By the policy's validator. Where it has none, that an object has to be one is seen without."""
    if policy.validate is not None:
        return tuple(policy.validate(schema, value))
    if policy.revision and schema.get("type") == "object" and not isinstance(value, dict):
        return (Violation("", "/type", "type", "it is not an object"),)
    return ()


def corrective_fragment(reading: EnvelopeReading) -> str:
    """The message to the model after a violation: from the validator, without any text of the model."""
    return (
        "Your previous emission did not validate against the required envelope schema. "
        f"Validator output: {reading.summary}. "
        "Please re-emit your structured response with the correction applied."
    )
