"""What an address of the Gemini API says: the model, and what is asked of it. Pure."""

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

BELOW = "/v1beta/"  #: where nothing but the Gemini API is
_CALLED = re.compile(r"/v1(?:beta)?/models/(?P<model>.+):(?P<method>[A-Za-z]+)")
WHOLE, STREAM, COUNT = "generateContent", "streamGenerateContent", "countTokens"
METHODS = (WHOLE, STREAM, COUNT)


@dataclass(frozen=True, slots=True)
class ParsedAddress:
    """`method`: one of `METHODS`."""

    model: str
    method: str


def parse_address(path: str) -> ParsedAddress | None:
    """What is asked there; None where nothing of the Gemini API is that we answer."""
    found = _CALLED.fullmatch(path)
    if found is None or found["method"] not in METHODS:
        return None
    return ParsedAddress(found["model"], found["method"])


def wants_array(path: str, query: bytes) -> bool:
    """Whether a stream is to come as one JSON array: it does where events are not asked for."""
    return path.rstrip("/").endswith(f":{STREAM}") and parse_qs(query.decode("latin-1")).get("alt") != ["sse"]


def camel(given: dict[str, Any]) -> dict[str, Any]:
    """The fields of one object under the names that are read here: the API takes `system_instruction` as well as
    `systemInstruction`. Other names, and what stands within a value, are left as they are."""
    return {_CAMEL.get(name, name): value for name, value in given.items()}


_READ = """
    allowedFunctionNames anyOf cachedContent candidateCount computerUse enableEnhancedCivicAnswers frequencyPenalty
    functionCall functionCallingConfig functionDeclarations functionResponse generateContentRequest generationConfig
    includeThoughts maxItems maxLength maxOutputTokens maxProperties mediaResolution minItems minLength minProperties
    parametersJsonSchema prefixItems presencePenalty propertyOrdering additionalProperties responseJsonSchema
    responseLogprobs responseMimeType responseModalities responseSchema safetySettings serviceTier stopSequences
    systemInstruction thinkingConfig thinkingLevel thoughtSignature toolConfig topP
"""
_CAMEL = {re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", name): name for name in _READ.split()}
