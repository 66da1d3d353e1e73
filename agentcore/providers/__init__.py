"""The supported API dialects, by name. Codecs are pure: bytes and values in, values out.

get_provider("openai").encode_request(request)   our request as that vendor's body
get_provider("openai").stream_decoder()          wire bytes in any chunking back into a ChatResponse

base            what a codec promises
context_window  whether the context window cut an answer, by its tokens
openai …        one package per dialect; they do not know each other (`llama` is spoken over `openai`)
wire            what dialects share

A dialect's package has its codec in `__init__`, `request` (ours to theirs), `answer` (theirs to ours, gathered piece by
piece, so that a stream and a whole body are read by the same rules), and `stop_reasons`, its table of them, where it
does not share the common one.
"""

from collections.abc import Mapping
from types import MappingProxyType

from agentcore.errors import CoreError
from agentcore.providers.anthropic import Anthropic
from agentcore.providers.base import Provider, StreamDecoder
from agentcore.providers.bedrock import Bedrock
from agentcore.providers.cohere import Cohere
from agentcore.providers.gemini import Gemini
from agentcore.providers.llama import Llama
from agentcore.providers.ollama import Ollama
from agentcore.providers.openai import OpenAI
from agentcore.providers.openai_responses import OpenAIResponses

__all__ = ["PROVIDERS", "Provider", "StreamDecoder", "UnknownProviderError", "get_provider"]

_CODECS: tuple[Provider, ...] = (
    OpenAI(),
    OpenAIResponses(),
    Anthropic(),
    Bedrock(),
    Gemini(),
    Ollama(),
    Llama(),
    Cohere(),
)
#: Every codec by its name.
PROVIDERS: Mapping[str, Provider] = MappingProxyType({codec.name: codec for codec in _CODECS})


class UnknownProviderError(CoreError, LookupError):
    """No codec has this name; `PROVIDERS` lists those that exist."""


def get_provider(name: str) -> Provider:
    """The codec of this name; UnknownProviderError, with the names that exist, for any other."""
    try:
        return PROVIDERS[name]
    except (KeyError, TypeError):
        raise UnknownProviderError(f"There is no provider {name!r}; choose one of: {', '.join(PROVIDERS)}.") from None
