"""What a call is sent with: the key its connection names, or for Bedrock a signature; an error where it has neither."""

import os

from agentcore.errors import ErrorType, ProviderError
from agentcore.providers.base import Provider
from dashboard.agents.models import Connection
from dashboard.agents.policy_validation import listed
from dashboard.live.signing import MissingCredential, signed
from dashboard.turns.recorder import Call

SIGNED = frozenset({"bedrock"})  #: dialects whose calls are signed where no key is named


def headers_for(call: Call, body: bytes, provider: Provider, connection: Connection) -> dict[str, str] | ProviderError:
    """The headers of one call. Keys and credentials are read from the environment now, and kept nowhere.

    An error of kind `auth` names the variable that is not set: then no call is to be made.
    """
    name = connection.api_key_env
    key = os.environ.get(name) if name else None
    if name and not key:
        return _refused(f"The key of connection “{connection.name}” is to be in {name}, which is not set.")
    ours = {"Content-Type": "application/json", "x-whystop-attempt": str(call.index)}
    headers = ours | provider.headers(key)
    if key or provider.name not in SIGNED:
        return headers
    try:
        return signed(call.url, headers, body)
    except MissingCredential as error:
        absent = f"{listed(error.names)} {'is' if len(error.names) == 1 else 'are'} not set"
        return _refused(f"Connection “{connection.name}” names no key, so its calls are signed for AWS; {absent}.")


def _refused(message: str) -> ProviderError:
    return ProviderError(ErrorType.MODEL, "auth", message, retryable=False)
