"""The environment, read once and checked; the only place that knows the names and defaults of its variables."""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote, urlsplit

import environ

from agentcore.quoting import quoted
from dashboard.platform.cross_origin import origins_read
from dashboard.platform.egress.keys import DEFAULT as DEFAULT_KEY_NAMES
from dashboard.platform.egress.keys import KeyNames
from dashboard.platform.egress.rules import Rules
from dashboard.platform.email_server import EmailServer
from dashboard.platform.errors import StartError
from dashboard.platform.sign_in_provider import SignInProvider, provider_read
from dashboard.platform.trusted_proxies import Proxies

CHECKOUT = Path(__file__).resolve().parent.parent.parent

Read = TypeVar("Read")

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"", "0", "false", "no", "off"})
_HEADER = re.compile(r"[A-Za-z0-9-]+")
_HIGHEST_PORT = 65535
_LONGEST_SECONDS = 86_400
_MOST_DIGITS = 9
_ANY_HOST = frozenset({"0.0.0.0", "::"})  # noqa: S104 - nothing is bound to it here
_LEVELS = frozenset({"DEBUG", "INFO", "WARNING", "ERROR"})


@dataclass(frozen=True, slots=True)
class OtlpCollector:
    """Where turns are sent as spans and metrics."""

    endpoint: str  #: WHYSTOP_OTLP_ENDPOINT; empty: nowhere
    headers: Mapping[str, str]  #: WHYSTOP_OTLP_HEADERS, by comma: name=value, sent along, percent-encoded
    content: bool  #: WHYSTOP_OTLP_CONTENT: with messages and answers


@dataclass(frozen=True, slots=True)
class Environment:
    """What the person who starts Whystop may choose."""

    data_dir: Path  #: WHYSTOP_DATA_DIR
    database_url: str  #: DATABASE_URL; empty: the embedded PostgreSQL of the data folder
    replica_url: str  #: WHYSTOP_REPLICA_URL: a read replica of it; empty: there is none
    redis_url: str  #: REDIS_URL; empty: live updates stay within one process
    host: str  #: WHYSTOP_HOST
    port: int  #: WHYSTOP_PORT; 0: any free one
    simulator_port: int  #: WHYSTOP_SIMULATOR_PORT; 0: the usual one, or any free one
    allowed_hosts: tuple[str, ...]  #: WHYSTOP_ALLOWED_HOSTS, by comma: names under which browsers come
    connections: int  #: WHYSTOP_CONNECTIONS: at once to this process; 0: as many as its open files allow
    api_requests_per_minute: int  #: WHYSTOP_API_REQUESTS_PER_MINUTE: of one token, in each process; 0: any number
    connections_per_address: int  #: WHYSTOP_CONNECTIONS_PER_ADDRESS: of them from one other machine; 0: any number
    https: bool  #: WHYSTOP_HTTPS: browsers come by https, through a proxy
    hsts: str  #: WHYSTOP_HSTS: what browsers remember of that, `host`, `subdomains` or `preload`; empty: not decided
    trusted_proxies: Proxies  #: WHYSTOP_TRUSTED_PROXIES, by comma: whose word for a client's address and scheme counts
    secret_key: str  #: WHYSTOP_SECRET_KEY; empty: made once and kept in the data folder
    signing_key: str  #: WHYSTOP_SIGNING_KEY; empty: made once and kept in the data folder
    bootstrap_token: str  #: WHYSTOP_BOOTSTRAP_TOKEN
    two_factor: bool  #: WHYSTOP_TWO_FACTOR: a password alone signs nobody in
    sign_in_provider: SignInProvider  #: WHYSTOP_OIDC_ISSUER and the variables beside it
    log_level: str  #: WHYSTOP_LOG_LEVEL
    log_format: str  #: WHYSTOP_LOG_FORMAT: a line is `name=value` (`logfmt`) or a JSON object (`json`)
    test_seam: bool  #: WHYSTOP_TEST_SEAM: programs may script the simulator (docs/reference/conformance-seam.md)
    debug: bool  #: WHYSTOP_DEBUG: Django's own debug pages
    files_dir: Path | None  #: WHYSTOP_FILES_DIR: the folder whose files the tool read_file may read
    mcp_stdio: bool  #: WHYSTOP_MCP_STDIO: MCP servers may be commands that Whystop runs
    gateway_unstored: str  #: WHYSTOP_GATEWAY_UNSTORED: what becomes of calls that cannot be stored, `refuse` or `pass`
    silence_seconds: float  #: WHYSTOP_SILENCE_SECONDS: without a byte from a provider, after which a call is given up
    criteria: tuple[str, ...]  #: WHYSTOP_CRITERIA, by comma: modules whose classes policies may name as criteria
    key_names: KeyNames  #: WHYSTOP_KEY_NAMES, by comma: variables whose values may be sent as keys, and where to
    otlp: OtlpCollector  #: WHYSTOP_OTLP_ENDPOINT and the variables beside it
    cors_origins: frozenset[str]  #: WHYSTOP_CORS_ORIGINS, by comma: origins whose pages may call the gateway, or `*`
    email: EmailServer  #: WHYSTOP_EMAIL_URL: the server that alerts are sent by; empty: none
    email_from: str  #: WHYSTOP_EMAIL_FROM: the sender's address
    address: str  #: WHYSTOP_ADDRESS: where people reach Whystop, for links in e-mail; empty: own_address
    egress: Rules | None  #: WHYSTOP_EGRESS, by comma: what may be connected to; None: nothing was said

    @property
    def own_address(self) -> str:
        """Where a browser finds Whystop; empty where that is not known: the port is not chosen yet, any host is, or a
        proxy stands before it. At a loopback host, only one on this machine does."""
        proxied = self.https or self.allowed_hosts or self.trusted_proxies
        if not self.port or self.host in _ANY_HOST or proxied:
            return ""
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


def read_environment(variables: Mapping[str, str] | None = None) -> Environment:
    """Reads `variables` (default: those of the process); raises StartError for one that makes no sense."""
    env = _variables(os.environ if variables is None else variables)
    return Environment(
        data_dir=Path(_text(env, "WHYSTOP_DATA_DIR", str(CHECKOUT / ".whystop"))).expanduser().resolve(),
        database_url=_text(env, "DATABASE_URL", ""),
        replica_url=_replica(env, "WHYSTOP_REPLICA_URL"),
        redis_url=_redis(env, "REDIS_URL"),
        host=_text(env, "WHYSTOP_HOST", "127.0.0.1"),
        port=_port(env, "WHYSTOP_PORT", 8321),
        simulator_port=_port(env, "WHYSTOP_SIMULATOR_PORT", 0),
        allowed_hosts=_list(env, "WHYSTOP_ALLOWED_HOSTS"),
        connections=_number(env, "WHYSTOP_CONNECTIONS", 4_096),
        api_requests_per_minute=_number(env, "WHYSTOP_API_REQUESTS_PER_MINUTE", 30_000),
        connections_per_address=_number(env, "WHYSTOP_CONNECTIONS_PER_ADDRESS", 256),
        https=_switch(env, "WHYSTOP_HTTPS"),
        hsts=_choice(env, "WHYSTOP_HSTS", ("host", "subdomains", "preload")) if _text(env, "WHYSTOP_HSTS", "") else "",
        trusted_proxies=_rules(env, "WHYSTOP_TRUSTED_PROXIES", "", Proxies.read),
        secret_key=_text(env, "WHYSTOP_SECRET_KEY", ""),
        signing_key=_text(env, "WHYSTOP_SIGNING_KEY", ""),
        bootstrap_token=_text(env, "WHYSTOP_BOOTSTRAP_TOKEN", ""),
        two_factor=_switch(env, "WHYSTOP_TWO_FACTOR"),
        sign_in_provider=provider_read(_endpoint(env, "WHYSTOP_OIDC_ISSUER"), env.ENVIRON),
        log_level=_level(env, "WHYSTOP_LOG_LEVEL", "WARNING"),
        log_format=_choice(env, "WHYSTOP_LOG_FORMAT", ("logfmt", "json")),
        test_seam=_switch(env, "WHYSTOP_TEST_SEAM"),
        debug=_switch(env, "WHYSTOP_DEBUG"),
        files_dir=_folder(env, "WHYSTOP_FILES_DIR"),
        mcp_stdio=_switch(env, "WHYSTOP_MCP_STDIO"),
        gateway_unstored=_choice(env, "WHYSTOP_GATEWAY_UNSTORED", ("refuse", "pass")),
        silence_seconds=_seconds(env, "WHYSTOP_SILENCE_SECONDS", 300.0),
        criteria=_list(env, "WHYSTOP_CRITERIA"),
        key_names=_rules(env, "WHYSTOP_KEY_NAMES", DEFAULT_KEY_NAMES, KeyNames.read),
        otlp=_collector(env),
        cors_origins=_rules(env, "WHYSTOP_CORS_ORIGINS", "", origins_read),
        email=_rules(env, "WHYSTOP_EMAIL_URL", "", EmailServer.read),
        email_from=_text(env, "WHYSTOP_EMAIL_FROM", "whystop@localhost"),
        address=_endpoint(env, "WHYSTOP_ADDRESS"),
        egress=_rules(env, "WHYSTOP_EGRESS", "", Rules.read) if _text(env, "WHYSTOP_EGRESS", "") else None,
    )


def _variables(given: Mapping[str, str]) -> environ.Env:
    env = environ.Env()
    env.ENVIRON = dict(given)
    return env


def _text(env: environ.Env, name: str, default: str) -> str:
    # A variable that is set but empty means the same as one that is not set.
    return str(env.ENVIRON.get(name, "")).strip() or default


def _list(env: environ.Env, name: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in _text(env, name, "").split(",") if part.strip())


def _rules(env: environ.Env, name: str, default: str, read: Callable[[str], Read]) -> Read:
    try:
        return read(_text(env, name, default))
    except ValueError as error:
        raise StartError(f"{name} cannot be read: {error}.") from error


def _replica(env: environ.Env, name: str) -> str:
    address = _text(env, name, "")
    if address and not address.startswith(("postgresql://", "postgres://")):
        raise StartError(f"{name} is not a PostgreSQL address: write postgresql://user:password@host:5432/database.")
    return address


def _redis(env: environ.Env, name: str) -> str:
    address = _text(env, name, "")
    try:
        parts = urlsplit(address)
        sound = parts.scheme == "unix" or (parts.scheme in ("redis", "rediss") and parts.port != 0)
    except ValueError:  # no port is like that
        sound = False
    if address and not sound:
        # What is there may hold a password.
        raise StartError(f"{name} is not a Redis address: write redis://host:6379, rediss://… or unix:///path.")
    return address


def _endpoint(env: environ.Env, name: str) -> str:
    address = _text(env, name, "").rstrip("/")
    try:
        parts = urlsplit(address)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # no port is like that
        sound = False
    if address and (not sound or "@" in parts.netloc or "?" in address or "#" in address):
        raise StartError(f"{name} must be an address such as https://collector:4318, without a user name or a query.")
    return address


def _collector(env: environ.Env) -> OtlpCollector:
    endpoint, headers = _endpoint(env, "WHYSTOP_OTLP_ENDPOINT"), _headers(env, "WHYSTOP_OTLP_HEADERS")
    return OtlpCollector(endpoint, headers, _switch(env, "WHYSTOP_OTLP_CONTENT"))


def _headers(env: environ.Env, name: str) -> dict[str, str]:
    given = [part.partition("=") for part in _list(env, name)]
    if not all(equals and _HEADER.fullmatch(header.strip()) for header, equals, _ in given):
        # What is there may be a secret.
        raise StartError(f"{name} must be name=value, comma-separated, as in OTEL_EXPORTER_OTLP_HEADERS.")
    return {header.strip(): unquote(value.strip()) for header, _, value in given}


def _port(env: environ.Env, name: str, default: int) -> int:
    try:
        number = env.int(name, default=default) if _text(env, name, "") else default
    except ValueError:
        number = -1
    if not 0 <= number <= _HIGHEST_PORT:
        raise StartError(f"{name} must be a port number from 0 to {_HIGHEST_PORT}, not {quoted(env.ENVIRON[name])}.")
    return int(number)


def _number(env: environ.Env, name: str, default: int) -> int:
    word = _text(env, name, str(default))
    if not (word.isascii() and word.isdigit() and len(word) <= _MOST_DIGITS):
        raise StartError(f"{name} must be a whole number from 0, not {quoted(word)}.")
    return int(word)


def _seconds(env: environ.Env, name: str, default: float) -> float:
    word = _text(env, name, str(default))
    try:
        seconds = float(word)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds <= _LONGEST_SECONDS:
        raise StartError(
            f"{name} must be a number of seconds from above 0 to {_LONGEST_SECONDS:,}, not {quoted(word)}."
        )
    return seconds


def _switch(env: environ.Env, name: str) -> bool:
    word = _text(env, name, "").lower()
    if word not in _TRUE | _FALSE:
        raise StartError(f"{name} must be 1 or 0, not {quoted(word)}.")
    return word in _TRUE


def _folder(env: environ.Env, name: str) -> Path | None:
    word = _text(env, name, "")
    if not word:
        return None
    folder = Path(word).expanduser().resolve()
    if not folder.is_dir():
        raise StartError(f"{name} must be a folder that exists, not {quoted(word)}.")
    return folder


def _choice(env: environ.Env, name: str, words: tuple[str, ...]) -> str:
    """One of the words; the first where none is set."""
    word = _text(env, name, words[0]).lower()
    if word not in words:
        raise StartError(f"{name} must be one of {', '.join(words)}, not {quoted(word)}.")
    return word


def _level(env: environ.Env, name: str, default: str) -> str:
    word = _text(env, name, default).upper()
    if word not in _LEVELS:
        raise StartError(f"{name} must be one of {', '.join(sorted(_LEVELS))}, not {quoted(word)}.")
    return word
