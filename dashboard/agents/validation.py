"""What a connection and an agent may say, judged in words. Pure: no database, no network, and of the environment only
what settings say of the names of keys.

Each `…_valid` is a validator in Django's sense: it returns nothing, or raises `ValidationError` with a sentence that
says what to do. Models, forms and API all judge by these.
"""

import re
from collections.abc import Collection
from typing import Any
from urllib.parse import SplitResult, urlsplit

from django.core.exceptions import ValidationError

from agentcore.number_format import number_rule
from agentcore.policy import limit_in_words
from agentcore.quoting import quoted
from dashboard.agents.policy_validation import listed
from dashboard.agents.schema_validation.validator import fault_in
from dashboard.platform.egress import keys
from dashboard.platform.form_errors import RuleError

NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")
ENVIRONMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
#: How the keys of well-known vendors begin, and the word of the header that carries them.
KEY_BEGINNINGS = ("sk-", "sk_", "gsk_", "AIza", "AKIA", "hf_", "xai-", "r8_", "pplx-", "nvapi-", "ghp_", "Bearer ")
LONG_WORD = re.compile(r"(?=.*\d)(?=.*[a-z])[A-Za-z0-9+/=-]{32,}")
#: Parts of a path that lead to another one.
DOTS = frozenset({".", ".."})
_CAP = limit_in_words("max_tokens")
MAX_TOKENS = 10_000_000  #: where the connection does not say what one call may ask for


def name_valid(value: str) -> None:
    """Names stand in addresses and commands."""
    if not NAME.fullmatch(value) or not value.strip("."):
        raise ValidationError(
            "A name may contain letters a–z, digits, dots, dashes and underscores (1 to 64 characters), and must not "
            "consist of dots only."
        )


def provider_valid(value: str) -> None:
    from agentcore.providers import PROVIDERS

    if value not in PROVIDERS:
        raise ValidationError(f"There is no provider {quoted(value)}; the providers are {listed(PROVIDERS)}.")


def prefill_possible(provider: str, *, prefill: bool, way: str = "prefill") -> None:
    """Only where the dialect can end a request with words of the assistant; said on the field `prefill`. The ways
    that need a field of the request are those of OpenAI-style servers; said on the field `prefill_way`.
    """
    from agentcore.providers import PROVIDERS

    if prefill and provider in PROVIDERS and not PROVIDERS[provider].can_prefill:
        can = listed(name for name, codec in PROVIDERS.items() if codec.can_prefill)
        raise ValidationError({"prefill": f"{provider} cannot continue an assistant message; these can: {can}."})
    if prefill and way != "prefill" and provider in PROVIDERS and provider not in ("openai", "llama"):
        raise ValidationError({"prefill_way": f"{provider} has no field {way}; only OpenAI-style servers have it."})


def base_url_valid(value: str) -> None:
    """The address as the vendor's own client takes it: scheme, host, optional port and path, and nothing else."""
    parts = _split(value)
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValidationError("The address must begin with http:// or https:// and name a host.")
    if parts.username is not None or parts.password is not None:
        raise ValidationError(
            "The address must not contain a user name or password. Enter the variable that holds the key instead."
        )
    if "?" in value or "#" in value:
        raise ValidationError("The address must end before any “?” or “#”.")


def url_valid(value: str) -> None:
    """An address of http, without a user name: what goes with a request to it is said elsewhere."""
    parts = _split(value)
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValidationError("The address must begin with http:// or https:// and name a host.")
    if parts.username is not None or parts.password is not None or "#" in value:
        raise ValidationError("The address must not contain a user name, a password or a “#”.")


def _split(value: str) -> SplitResult | None:
    """The parts of an address whose port, if any, is one; None for what is no address at all."""
    if re.search(r"[\s\x00-\x1f\x7f\\]", value):
        return None
    try:
        parts = urlsplit(value)
        return parts if parts.port != 0 else None
    except ValueError:
        return None


def api_key_env_valid(value: str) -> None:
    """The *name* of an environment variable; empty where the endpoint needs no key."""
    if not value:
        return
    if value.startswith(KEY_BEGINNINGS) or LONG_WORD.fullmatch(value):
        raise ValidationError("This looks like the key itself. Enter the name of the variable that holds it.")
    if not ENVIRONMENT_NAME.fullmatch(value):
        raise ValidationError(
            "The name of an environment variable has letters, digits and underscores, such as OPENAI_API_KEY."
        )
    if keys.is_own(value):
        raise ValidationError(f"{value} is a secret of Whystop. Enter the variable that holds the provider's key.")


def key_may_go(field: str, name: str, url: str) -> None:
    """The named variable may be sent to this address (`WHYSTOP_KEY_NAMES`); said on the field. A program's is empty."""
    try:
        why = keys.fault(name, url)
    except ValueError:  # what is wrong with the address is said of the address
        return
    if why is not None:
        raise ValidationError({field: why})


def model_valid(value: str) -> None:
    """A model's name stands in the addresses of some dialects: it may not lead to another address."""
    if not value.isprintable() or DOTS.intersection(re.split(r"[/\\]", value)):
        raise ValidationError("A model's name has no control characters, and no “.” or “..” between slashes.")


def max_tokens_within(value: int, *, ceiling: int | None, connection: str) -> None:
    """`ceiling`: the tokens one call of the connection may ask for, where that is known."""
    if value < 1 or value > MAX_TOKENS:
        raise RuleError(_CAP, "max_tokens", number_rule(1, MAX_TOKENS, whole=True))
    if ceiling is not None and value > ceiling:
        raise ValidationError(
            f"{_CAP} is {value:,}, but one call on the connection “{connection}” may request at most {ceiling:,} "
            f"tokens. Choose a number from 1 to {ceiling:,}."
        )


def tools_valid(value: Any, known: Collection[str]) -> None:
    """A list of different tool names, all of which are `known`."""
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value):
        raise ValidationError("tools must be a list of names of tools.")
    unknown = [name for name in value if name not in known]
    if unknown:
        raise ValidationError(f"There is no tool {quoted(unknown[0])}; the tools are {listed(sorted(known))}.")
    if len(set(value)) < len(value):
        raise ValidationError("A tool is listed twice. List each tool once.")


def json_schema_valid(value: Any) -> None:
    """A JSON Schema that stands alone, and whose judging ends: every `$ref` points into itself. None: no schema."""
    if value is None:
        return
    if not isinstance(value, dict):
        raise ValidationError('The schema must be an object such as `{"type": "object"}`.')
    if (fault := fault_in(value)) is not None:
        raise ValidationError(fault)
