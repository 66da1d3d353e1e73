"""A record without what may be a credential in it: fields by their names, texts by their looks, parts of addresses."""

import json
import re
from typing import Any
from urllib.parse import urlsplit

from dashboard.ingest.logs.values import Json
from dashboard.platform.strict_json import read_strictly

#: What a request asks, and what an answer says, at their top: left as it is.
ASKED = frozenset(
    {"messages", "contents", "input", "prompt", "system", "systemInstruction", "system_instruction", "instructions"}
)
SAID = frozenset(
    {"choices", "candidates", "content", "output", "message", "response", "text", "thinking", "refusal", "error"}
)
_SCHEMA = frozenset({"properties", "patternProperties", "$defs", "definitions"})  #: whose names are a tool's own
_NAME = re.compile(
    r"apikey|authorization|cookie|headers$|passw(?:or)?d|passphrase|secret|credential|accesskey|privatekey"
    r"|subscriptionkey|proxyserverrequest|serviceaccount|^(?:auth|basicauth|bearer|googapikey|jwt|xapikey)$"
    r"|(?:^|access|api|auth|azuread|bearer|hf|id|identity|refresh|security|session|user)token$"
)
_VALUE = re.compile(
    r"\b(?:bearer|basic)\s+(?=\S*\d)[\w.~+/=-]{12,}|\b(?:sk|pk|rk|gsk|xai)[-_](?=[\w-]*\d)[\w-]{16,}|\bAIza[\w-]{30,}",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"https?://\S+")
_SEGMENT = re.compile(r"(?:sk|pk|rk|gsk|xai)[-_].{8,}|AIza.{30,}|(?=\D*\d)\w{24,}", re.IGNORECASE)  #: of a path
_TYPE = re.compile(
    r"(?:application|audio|image|message|multipart|text)/[a-z0-9.+-]{1,60}(?:\s*;\s*charset=\"?[a-z0-9-]{1,20}\b\"?)?",
    re.IGNORECASE,
)
_GONE = object()


def cleaned(told: Json, own: frozenset[str]) -> dict[str, Any]:
    """The object without credentials at any depth. `own`: the fields at its top that are left as they are."""
    apart = {name: value for name, value in told.items() if name not in own}
    rest = _fields(apart, is_text_read=True)
    return {name: value if name in own else rest[name] for name, value in told.items() if name in own or name in rest}


def address_of(url: str) -> str:
    """Without what may be secret in it: its user, its query, and long keys in its path."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return ""
    path = "/".join("…" if _SEGMENT.fullmatch(segment) else segment for segment in parts.path.split("/"))
    return f"{parts.scheme}://{parts.hostname}{port}{path}" if parts.scheme and parts.hostname else ""


def is_shortened(url: str) -> bool:
    """Whether anything but its fragment is left out of the address."""
    kept, told = address_of(url), url.partition("#")[0]
    return bool(kept) and ("…" in kept or "?" in told or "@" in told.split("/", 3)[2])


def content_type_of(told: str) -> str:
    """The type with its character set; empty where it is no content type."""
    found = _TYPE.match(told)
    return found.group() if found else ""


def _fields(told: Json, *, is_text_read: bool) -> dict[str, Any]:
    found = (
        (name, value if name in _SCHEMA else _value(value, is_text_read=is_text_read))
        for name, value in told.items()
        if not _is_name(name)
    )
    return {name: value for name, value in found if value is not _GONE}


def _is_name(name: str) -> bool:
    return _NAME.search(re.sub(r"[\W_]", "", name).casefold()) is not None


def _value(told: Any, *, is_text_read: bool) -> Any:
    if isinstance(told, dict):
        is_pair = "value" in told and any(_is_name(str(told.get(key, ""))) for key in ("name", "key"))
        return _GONE if is_pair else _fields(told, is_text_read=is_text_read)
    if isinstance(told, list):
        values = (_value(one, is_text_read=is_text_read) for one in told)
        return [one for one in values if one is not _GONE]
    return _text(told, is_text_read=is_text_read) if isinstance(told, str) else told


def _text(told: str, *, is_text_read: bool) -> Any:
    """A text of JSON is read once: one within it is not, or it would nest without end."""
    if is_text_read and told.lstrip()[:1] in {"{", "["}:
        try:
            inner = read_strictly(told)
        except ValueError:
            inner = None
        if isinstance(inner, dict | list):
            kept = _value(inner, is_text_read=False)
            return told if kept == inner else _GONE if kept is _GONE else json.dumps(kept)
    if _ADDRESS.fullmatch(told):
        return address_of(told) if is_shortened(told) else told
    return _GONE if _VALUE.search(told) else told
