"""Vendors' own names of API-key variables, and the hosts each key may be sent to.

Such a key goes to its vendor's hosts and to this machine, as long as `WHYSTOP_KEY_NAMES` covers it by a pattern alone.
Whoever starts Whystop may name it there, and send it elsewhere.
"""

import os
from collections.abc import Mapping
from urllib.parse import urlsplit

from dashboard.platform.egress.proxies import is_near
from dashboard.platform.egress.rules import host_matches

_GOOGLE = ("generativelanguage.googleapis.com", "aiplatform.googleapis.com")
_COHERE = ("api.cohere.com", "api.cohere.ai")
HOSTS: Mapping[str, tuple[str, ...]] = {
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


def hosts_of(name: str) -> tuple[str, ...]:
    """The hosts that this variable is for; empty where its name is no vendor's."""
    found = HOSTS.get(name, ())
    chosen = _host(os.environ.get(_CHOSEN.get(name, ""), ""))
    return (*found, chosen) if chosen else found


def is_for(name: str, url: str) -> bool:
    """Whether this variable may go to an address without being named; to a program where that is empty."""
    hosts = hosts_of(name)
    host = urlsplit(url).hostname or ""
    return not (hosts and url) or is_near(host) or any(host_matches(known, host) for known in hosts)


def _host(url: str) -> str:
    try:
        return urlsplit(url.strip()).hostname or ""
    except ValueError:  # the first start says what is wrong with it
        return ""
