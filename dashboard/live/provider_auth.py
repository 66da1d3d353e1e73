"""What a call is sent with: the key its connection names, or for Bedrock a signature; an error where it has neither.

Errors are read by whoever sees the turn and by callers of the gateway, so they do not tell which variables are set. The
log does, and the connection's page in the admin.

Signs calls of Bedrock with AWS credentials from the environment (Signature Version 4, by botocore's signer).

A Bedrock connection that names no key is signed with `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and, for temporary
credentials, `AWS_SESSION_TOKEN`. The region is the one in the host's name, else that of `AWS_REGION`, else that of
`AWS_DEFAULT_REGION`.
"""

import ipaddress
import logging
import os
import re
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

import structlog

from agentcore.errors import ErrorType, ProviderError
from agentcore.messages import ChatRequest
from agentcore.providers.base import Provider
from agentcore.providers.wire.request_messages import FROM_CALLERS, HEADERS
from agentcore.providers.wire.untrusted_json import mapping
from dashboard.agents.models import Connection
from dashboard.platform.egress.keys import fault, key_for, names
from dashboard.platform.egress.proxies import is_near
from dashboard.turns.recorder import CallRow

KEY_ID, SECRET, TOKEN = "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"
REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
_SERVICE = "bedrock"
_REGION_IN_HOST = re.compile(r"(?:^|\.)bedrock-runtime(?:-fips)?\.([a-z0-9-]+)\.")
_PORTS = {"http": 80, "https": 443}

# At DEBUG the signer writes down what it signs, the session token among it.
logging.getLogger("botocore").setLevel(logging.WARNING)


class MissingCredential(Exception):
    """A call cannot be signed. `names`: the environment variables that are not set."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__(", ".join(names))
        self.names = names


def signed(url: str, headers: Mapping[str, str], body: bytes) -> dict[str, str]:
    """The headers of a POST with its signature among them, over the path and the body exactly as they are given.

    At a loopback address without credentials they stay as they are. Raises `MissingCredential` anywhere else.
    """
    missing = tuple(_missing(url))
    if missing and _is_loopback(url):
        return dict(headers)
    if missing:
        raise MissingCredential(missing)
    # Only what names the content is signed beside host and date, so that nothing on the way can spoil the signature.
    essential = {name: value for name, value in headers.items() if name.lower() == "content-type"}
    return {**headers, **_signature(url, {**essential, "Host": _host(url)}, body)}


def _signature(url: str, headers: Mapping[str, str], body: bytes) -> dict[str, str]:
    """These headers, signed, with the signature and what it needs to be checked."""
    # Imported where it is needed: it takes longer than all else that a command loads, and few sign.
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    request = AWSRequest("POST", url, headers=dict(headers), data=body)
    credentials = Credentials(os.environ[KEY_ID], os.environ[SECRET], os.environ.get(TOKEN) or None)
    SigV4Auth(credentials, _SERVICE, _region(url)).add_auth(request)
    return {name: str(value) for name, value in request.headers.items()}


def _missing(url: str) -> Iterator[str]:
    yield from (name for name in (KEY_ID, SECRET) if not os.environ.get(name))
    if not _region(url):
        yield REGIONS[0]


def _region(url: str) -> str:
    named = _REGION_IN_HOST.search(urlsplit(url).hostname or "")
    return named[1] if named else next((os.environ[name] for name in REGIONS if os.environ.get(name)), "")


def _host(url: str) -> str:
    """The `Host` header: the port only where it is not the scheme's own."""
    parts = urlsplit(url)
    name = parts.hostname or ""
    name = f"[{name}]" if ":" in name else name
    return name if parts.port in (None, _PORTS.get(parts.scheme)) else f"{name}:{parts.port}"


def _is_loopback(url: str) -> bool:
    name = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")


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
