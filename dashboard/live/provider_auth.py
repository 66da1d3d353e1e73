"""What a call is sent with: the key its connection names, or for Bedrock a signature; an error where it has neither.

Errors are read by whoever sees the turn and by callers of the gateway, so they do not tell which variables are set. The
log does, and the connection's page in the admin.
"""

from urllib.parse import urlsplit

import structlog

from agentcore.errors import ErrorType, ProviderError
from agentcore.messages import ChatRequest
from agentcore.providers.base import Provider
from agentcore.providers.wire.request_messages import FROM_CALLERS, HEADERS
from agentcore.providers.wire.untrusted_json import mapping
from dashboard.agents.models import Connection
from dashboard.live.aws_signature import MissingCredential, signed
from dashboard.platform.egress.keys import fault, key_for, names
from dashboard.platform.egress.proxies import is_near
from dashboard.turns.recorder import CallRow

log = structlog.get_logger(__name__)

SIGNED = frozenset({"bedrock"})  #: dialects whose calls are signed where no key is named


def headers_for(
    call: CallRow, body: bytes, provider: Provider, connection: Connection
) -> dict[str, str] | ProviderError:
    """The headers of one call. Keys and credentials are read from the environment now, and kept nowhere.

    With an error of kind `auth` no call is to be made. A key goes only where `WHYSTOP_KEY_NAMES` lets it go.
    """
    key = key_to(call.url, connection)
    if isinstance(key, ProviderError):
        return key
    ours = {"Content-Type": "application/json", "x-whystop-attempt": str(call.index)}
    headers = ours | provider.headers(key)
    if key or provider.name not in SIGNED:
        return headers
    return _signed(call, headers, body, connection)


def callers_headers(request: ChatRequest) -> dict[str, str]:
    """The headers that the turn's caller sent along, which a call of a re-run is sent with again."""
    told = mapping(request.extra.get(HEADERS)).items()
    return {name: value for name, value in told if name in FROM_CALLERS and isinstance(value, str)}


def key_to(url: str, connection: Connection) -> str | ProviderError | None:
    """The key that a connection's calls to this address carry; None where it names none."""
    name = connection.api_key_env
    key = key_for(name, url)
    if not name or key:
        return key
    log.warning("no_key", connection=connection.name, why=fault(name, url) or f"{name} is not set.")
    return _refused(
        f"Connection “{connection.name}” has no key that it may send to its address; "
        "its page in the admin shows the reason."
    )


def _signed(
    call: CallRow, headers: dict[str, str], body: bytes, connection: Connection
) -> dict[str, str] | ProviderError:
    if not names().may_sign(call.url):
        return (
            headers if is_near(urlsplit(call.url).hostname or "") else _not_signed(connection, "its host is not AWS's")
        )
    try:
        return signed(call.url, headers, body)
    except MissingCredential as error:
        log.warning("no_credentials", connection=connection.name, missing=error.names)
        return _not_signed(connection, "AWS credentials or a region are missing; the log names them")


def _not_signed(connection: Connection, why: str) -> ProviderError:
    return _refused(f"Connection “{connection.name}” names no key variable, so its calls are signed for AWS; {why}.")


def _refused(message: str) -> ProviderError:
    return ProviderError(ErrorType.MODEL, "auth", message, retryable=False)
