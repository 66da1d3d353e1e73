"""The API dialects this package speaks, by name. Codecs are pure: bytes and values in, values out.

get_provider("openai").encode_request(request)   our request as that vendor's body
get_provider("openai").stream_decoder()          wire bytes in any chunking back into a ChatResponse
"""

from collections.abc import Mapping
from types import MappingProxyType

from agentcore.errors import CoreError
from agentcore.providers.base import Provider, StreamDecoder
from agentcore.providers.openai import OpenAI

__all__ = ["PROVIDERS", "Provider", "StreamDecoder", "UnknownProviderError", "get_provider"]

PROVIDERS: Mapping[str, Provider] = MappingProxyType({provider.name: provider for provider in (OpenAI(),)})


class UnknownProviderError(CoreError, LookupError):
    """No codec has this name; `PROVIDERS` lists those that exist."""


def get_provider(name: str) -> Provider:
    """The codec of this name; UnknownProviderError, with the names that exist, for any other."""
    try:
        return PROVIDERS[name]
    except KeyError:
        raise UnknownProviderError(f"There is no provider {name!r}; choose one of: {', '.join(PROVIDERS)}.") from None
