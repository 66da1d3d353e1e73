"""The dialects of the simulator, and their addresses."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from dashboard.simulator.dialects.anthropic import ANTHROPIC
from dashboard.simulator.dialects.base import Dialect
from dashboard.simulator.dialects.bedrock import BEDROCK
from dashboard.simulator.dialects.cohere import COHERE
from dashboard.simulator.dialects.gemini import GEMINI
from dashboard.simulator.dialects.llama import LLAMA
from dashboard.simulator.dialects.ollama import OLLAMA
from dashboard.simulator.dialects.openai import OPENAI
from dashboard.simulator.dialects.openai_responses import OPENAI_RESPONSES

#: What follows the simulator's own address in a base URL, as each vendor's client takes it.
BASES: Mapping[str, str] = {
    "openai": "/v1",
    "openai_responses": "/v1",
    "anthropic": "",
    "gemini": "",
    "bedrock": "",
    "ollama": "",
    "cohere": "",
    "llama": "/llama/v1",
}


@dataclass(frozen=True, slots=True)
class Address:
    """One dialect's address. `place`: what it names, such as the model and the method."""

    dialect: Dialect
    place: Mapping[str, str]


_ADDRESSES = [
    (re.compile(pattern), dialect)
    for pattern, dialect in (
        (r"/v1/chat/completions", OPENAI),
        (r"/v1/responses", OPENAI_RESPONSES),
        (r"/v1/messages(?P<method>/count_tokens)?", ANTHROPIC),
        (
            r"/v1(?:beta)?/models/(?P<model>[^/:]+):(?P<method>generateContent|streamGenerateContent|countTokens)",
            GEMINI,
        ),
        (r"/model/(?P<model>.+)/(?P<method>converse|converse-stream)", BEDROCK),
        (r"/api/chat", OLLAMA),
        (r"/v2/chat", COHERE),
        (r"/llama/v1/chat/completions", LLAMA),
    )
]


def find(path: str) -> Address | None:
    """The dialect spoken at `path`, which is decoded."""
    found = ((dialect, pattern.fullmatch(path)) for pattern, dialect in _ADDRESSES)
    return next((Address(dialect, match.groupdict()) for dialect, match in found if match), None)
