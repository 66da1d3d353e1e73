"""Reading a structured answer: one JSON value, found directly or by local recovery, and validated.

spec: rfc-0033-envelope-completion; decisions: design §3.7. Recovery happens before validation and costs no retry.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pydantic_core import from_json

from agentcore.policy import Validator, Violation


class RecoveryPath(StrEnum):
    DIRECT = "direct"
    MARKDOWN_FENCE = "markdown-fence"
    BRACE_WALKER = "brace-walker"


@dataclass(frozen=True, slots=True)
class Payload:
    """What was read: the value, how it was found and at which byte of the text it begins."""

    value: Any
    path: RecoveryPath
    byte_offset: int


_FENCE = re.compile(r"```(?:json)?[ \t]*\r?\n(.*?)```", re.DOTALL | re.IGNORECASE)


def read_payload(text: str) -> Payload | None:
    """The JSON object or array in the text; None where there is none that is whole."""
    for path, start, candidate in _candidates(text):
        try:
            value = from_json(candidate, allow_inf_nan=False)
        except ValueError:
            continue
        if path is RecoveryPath.DIRECT or isinstance(value, dict | list):
            return Payload(value, path, len(text[:start].encode("utf-8", "surrogatepass")))
    return None


def _candidates(text: str) -> list[tuple[RecoveryPath, int, str]]:
    found = [(RecoveryPath.DIRECT, 0, text.strip())]
    found += [(RecoveryPath.MARKDOWN_FENCE, m.start(1), m.group(1)) for m in _FENCE.finditer(text)]
    found += [(RecoveryPath.BRACE_WALKER, start, text[start:end]) for start, end in _braces(text)]
    return found


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
    """Why a structured answer is not complete; the words of `envelope.retry.attempted`."""

    TRUNCATION = "truncation"
    SCHEMA_VIOLATION = "schema-violation"
    PARSE_ERROR = "parse-error"
    REFUSAL = "refusal"


@dataclass(frozen=True, slots=True)
class EnvelopeReading:
    """What a structured answer came to. `fault` None: complete, and `value` is the envelope."""

    fault: EnvelopeFault | None
    value: Any = None
    violations: tuple[Violation, ...] = ()
    payload: Payload | None = None

    @property
    def summary(self) -> str:
        """The fault in words of ours: schema pointers and keywords, never the model's content."""
        match self.fault:
            case None:
                return "complete"
            case EnvelopeFault.TRUNCATION:
                return "the answer was cut before its end"
            case EnvelopeFault.PARSE_ERROR:
                return "the answer is not JSON"
            case EnvelopeFault.REFUSAL:
                return "the provider refused"
            case EnvelopeFault.SCHEMA_VIOLATION:
                return "; ".join(f"{v.schema_pointer or '/'} ({v.keyword})" for v in self.violations[:5])


def read_envelope(text: str, schema: Mapping[str, Any], validate: Validator | None, *, clean: bool) -> EnvelopeReading:
    """Judge a structured answer's text. `clean`: the model ended by itself; else any fault is truncation."""
    payload = read_payload(text)
    if payload is None:
        return EnvelopeReading(EnvelopeFault.PARSE_ERROR if clean else EnvelopeFault.TRUNCATION)
    violations = tuple(validate(schema, payload.value)) if validate else ()
    if violations:
        fault = EnvelopeFault.SCHEMA_VIOLATION if clean else EnvelopeFault.TRUNCATION
        return EnvelopeReading(fault, violations=violations, payload=payload)
    return EnvelopeReading(None, payload.value, payload=payload)


def corrective_fragment(reading: EnvelopeReading) -> str:
    """What the model is told after a violation: host-written, from the validator, with no word of the model's."""
    return (
        "Your previous emission did not validate against the required envelope schema. "
        f"Validator output: {reading.summary}. "
        "Please re-emit your structured response with the correction applied."
    )
