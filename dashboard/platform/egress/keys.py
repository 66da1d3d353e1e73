"""Which variables of the environment hold keys that may be sent, and where to.

`WHYSTOP_KEY_NAMES` is a list by comma. `HF_TOKEN` lets this variable be sent to any host that is called, `*_API_KEY`
every variable of such a name but those of well-known vendors, which go to their vendor's hosts (`VENDOR_HOSTS`).
`OPENAI_API_KEY@api.openai.com` binds a name to a host: what any entry binds goes to the hosts it is bound to, and
nowhere else. The host may be `*.example.com` and have a port behind it; `stdio` in its place stands for the programs of
MCP servers.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from urllib.parse import urlsplit

from django.conf import settings

from dashboard.platform.egress.proxies import is_near
from dashboard.platform.egress.rules import HOST, host_matches, port_split

# Vendors' own names of API-key variables, and the hosts each key may be sent to.
# Such a key goes to its vendor's hosts and to this machine, as long as `WHYSTOP_KEY_NAMES` covers it by a pattern
# alone. Whoever starts Whystop may name it there, and send it elsewhere.
_GOOGLE = ("generativelanguage.googleapis.com", "aiplatform.googleapis.com")
_COHERE = ("api.cohere.com", "api.cohere.ai")
VENDOR_HOSTS: Mapping[str, tuple[str, ...]] = {
    "ANTHROPIC_API_KEY": ("api.anthropic.com",),
    "CEREBRAS_API_KEY": ("api.cerebras.ai",),
    "COHERE_API_KEY": _COHERE,
    "CO_API_KEY": _COHERE,
    "DEEPSEEK_API_KEY": ("api.deepseek.com",),
    "FIREWORKS_API_KEY": ("api.fireworks.ai",),
    "GEMINI_API_KEY": _GOOGLE,
    "GOOGLE_API_KEY": _GOOGLE,
    "GROQ_API_KEY": ("api.groq.com",),
    "LLAMA_API_KEY": ("api.llama.com",),
    "MISTRAL_API_KEY": ("api.mistral.ai", "codestral.mistral.ai"),
    "OPENAI_API_KEY": ("api.openai.com", "*.api.openai.com"),
    "OPENROUTER_API_KEY": ("openrouter.ai", "*.openrouter.ai"),
    "PERPLEXITY_API_KEY": ("api.perplexity.ai",),
    "STRIPE_API_KEY": ("*.stripe.com",),
    "TOGETHER_API_KEY": ("api.together.xyz", "api.together.ai"),
    "XAI_API_KEY": ("api.x.ai", "*.api.x.ai"),
}
#: Variables by which whoever starts Whystop names one more host for a key.
_CHOSEN = {"OPENAI_API_KEY": "OPENAI_BASE_URL"}


def vendor_hosts_of(name: str) -> tuple[str, ...]:
    """The hosts that this variable is for; empty where its name is no vendor's."""
    found = VENDOR_HOSTS.get(name, ())
    chosen = _host(os.environ.get(_CHOSEN.get(name, ""), ""))
    return (*found, chosen) if chosen else found


def is_vendors_host(name: str, url: str) -> bool:
    """Whether this variable may go to an address without being named; to a program where that is empty."""
    hosts = vendor_hosts_of(name)
    host = urlsplit(url).hostname or ""
    return not (hosts and url) or is_near(host) or any(host_matches(known, host) for known in hosts)


def _host(url: str) -> str:
    try:
        return urlsplit(url.strip()).hostname or ""
    except ValueError:  # the first start says what is wrong with it
        return ""


DEFAULT = "*_API_KEY"
PROGRAMS = "stdio"
#: Whystop's own secrets, which are never sent to anybody as if they were a provider's key.
OWN_SECRETS = frozenset({"DATABASE_URL", "REDIS_URL"})
OWN_PREFIX = "WHYSTOP_"
AWS_SECRET = "AWS_SECRET_ACCESS_KEY"  # noqa: S105 - the name of a variable
#: What signs calls is never sent as a key.
SIGNING = frozenset({"AWS_ACCESS_KEY_ID", AWS_SECRET, "AWS_SESSION_TOKEN"})
#: Hosts that calls are signed for with the environment's AWS credentials, unless the list binds those elsewhere.
AWS_HOSTS = ("*.amazonaws.com", "*.amazonaws.com.cn", "*.api.aws")
_NAME = re.compile(r"[A-Za-z0-9_*]+")
_ADDRESS = re.compile(r"[0-9a-f.:]+")
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class KeyName:
    """One entry. `host`: empty where the name is bound to none."""

    pattern: str
    host: str = ""
    port: int | None = None

    def matches(self, name: str) -> bool:
        return fnmatchcase(name, self.pattern)

    def leads_to(self, url: str) -> bool:
        parts = urlsplit(url)
        port = parts.port or _PORTS.get(parts.scheme)
        return host_matches(self.host, parts.hostname or "") and self.port in (None, port)


def _key_name(text: str) -> KeyName:
    pattern, bound, host = text.partition("@")
    body, port = port_split(host.strip().lower())
    sound = HOST.fullmatch(body) or _ADDRESS.fullmatch(body)
    if not _NAME.fullmatch(pattern.strip()) or (bound and not sound):
        raise ValueError(
            f"“{text}” is not a valid entry: write the name of a variable, such as OPENAI_API_KEY or *_API_KEY, "
            "followed by @host if the key may be sent to one host only"
        )
    return KeyName(pattern.strip(), body, port)


@dataclass(frozen=True, slots=True)
class KeyNames:
    """Which variables may be sent where."""

    entries: tuple[KeyName, ...]

    @classmethod
    def read(cls, text: str) -> "KeyNames":
        """Raises ValueError with a sentence for an entry that makes no sense."""
        return cls(tuple(_key_name(part.strip()) for part in text.split(",") if part.strip()))

    def holds(self, name: str) -> bool:
        """Whether this variable may be named at all."""
        return _is_key(name) and any(entry.matches(name) for entry in self.entries)

    def may_go(self, name: str, url: str) -> bool:
        """Whether this variable's value may be sent to this address; to a program where that is empty."""
        if not _is_key(name):
            return False
        bound = [entry for entry in self.entries if entry.host and entry.matches(name)]
        if bound:
            return any(entry.leads_to(url) if url else entry.host == PROGRAMS for entry in bound)
        return self._is_named(name) or (self.holds(name) and is_vendors_host(name, url))

    def binds(self, name: str) -> bool:
        """Whether an entry says which hosts this variable goes to."""
        return any(entry.host and entry.matches(name) for entry in self.entries)

    def _is_named(self, name: str) -> bool:
        """Whether an entry is this name itself, and no pattern that covers it."""
        return any(entry.pattern == name for entry in self.entries)

    def may_sign(self, url: str) -> bool:
        """Whether a call to this address may be signed with the environment's AWS credentials."""
        bound = [entry for entry in self.entries if entry.host and entry.matches(AWS_SECRET)]
        return any(entry.leads_to(url) for entry in bound or [KeyName(AWS_SECRET, host) for host in AWS_HOSTS])


def is_own(name: str) -> bool:
    """Whether this is a secret of Whystop's own."""
    return name.upper() in OWN_SECRETS or name.upper().startswith(OWN_PREFIX)


def _is_key(name: str) -> bool:
    return not is_own(name) and name.upper() not in SIGNING


def names() -> KeyNames:
    """Those in force."""
    found: KeyNames = settings.KEY_NAMES
    return found


def key_for(name: str, url: str) -> str | None:
    """The key for a call to this address, or for a program where that is empty. It is read now, and kept nowhere.

    None where the variable is empty or not set, and where it may not be sent there.
    """
    return (os.environ.get(name) or None) if name and names().may_go(name, url) else None


def state_in_words(name: str, url: str) -> str:
    """Whether there is a key for this address (a program's is empty); for those who may name one, and nobody else."""
    if not name:
        return "none is named"
    found = key_for(name, url) is not None
    return "yes" if found else f"no: {fault(name, url) or 'set it where Whystop runs, and start again'}"


def fault(name: str, url: str) -> str | None:
    """What speaks against naming this variable for this address (a program's is empty), without a look at its value."""
    if not name or names().may_go(name, url):
        return None
    if names().binds(name) and names().holds(name):
        return f"WHYSTOP_KEY_NAMES binds {name} to other hosts; name another variable, or change the list."
    if names().holds(name):
        return _unnamed(name, urlsplit(url).hostname or "")
    return f"{name} is not among the variables that may be sent (WHYSTOP_KEY_NAMES: {listed()})."


def listed() -> str:
    """The names and patterns that may be named, in words."""
    return ", ".join(dict.fromkeys(entry.pattern for entry in names().entries)) or "none"


def found() -> list[str]:
    """The variables of the environment that may be named; for those who may name one, and nobody else."""
    return sorted(name for name in os.environ if names().holds(name))


def _unnamed(name: str, host: str) -> str:
    home = ", ".join(vendor_hosts_of(name))
    return (
        f"{name} goes to {home} and this machine alone, unless WHYSTOP_KEY_NAMES names it. "
        f"Name another variable, or ask the person who starts Whystop to add {name}@{host} to that list "
        f"(default: {DEFAULT})."
    )
