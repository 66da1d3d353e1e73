"""Logs: one line per event on stderr, by structlog; no secret ever in one."""

import json
import logging
import re
from collections.abc import Mapping, MutableMapping
from typing import Any

import structlog

from dashboard.platform.process_identity import PLACE

_SECRET_NAMES = re.compile(r"authorization|api[_-]?key|password|secret|token$|cookie", re.IGNORECASE)
_SECRET_TEXTS = (
    re.compile(r"(?i)(bearer\s+)[^\s\"',;]+"),
    re.compile(r"(?i)((?:api[_-]?key|token|code|password)=)[^\s\"'&;]+"),
    re.compile(r"(?i)(\bkey=)[^\s\"'&;]+"),  # as clients of Google's put it into an address
    re.compile(r"(://[^/\s:@]*:)[^/\s@]+(?=@)"),
    re.compile(r"\b(sk-|whyk?_|whsec_)[A-Za-z0-9_+/=-]{8,}"),
    re.compile(r"(/share/)[A-Za-z0-9_-]{8,}"),  # whoever has the address reads the turn
)


MOST_LETTERS = 2_000  #: of a value: callers and providers choose many, and may send megabytes
MOST_OF_TRACEBACK = 20_000  #: of which the end is kept, where the error is
MARGIN = 10_000  #: letters beyond a cut, by which a secret is known that the cut would divide


def of_turn(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A structlog processor: the turn of a job, in the lines that the queue writes about it."""
    job = event.get("job")
    asked = job.get("task_kwargs") if isinstance(job, Mapping) else None
    if isinstance(asked, Mapping) and "turn_id" in asked:
        event.setdefault("turn", asked["turn_id"])
    return event


def in_words(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A structlog processor: what is no text or number becomes text, as requests and errors do, so that the processors
    behind it see what will be written."""
    for name, value in event.items():
        if value is not None and not isinstance(value, (str, int, float)) and not name.startswith("_"):
            event[name] = str(value)
    return event


def shortened(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A structlog processor: of long texts the beginning, of a long traceback the end, and how much is left out.

    A secret that is cut is masked before: what is left of it may lack the word that tells what it is.
    """
    for name, value in event.items():
        if name == "exception":
            event[name] = _end(value)
        elif isinstance(value, str) and len(value) > MOST_LETTERS:
            event[name] = f"{_beginning(value)}… ({len(value) - MOST_LETTERS:,} more)"
    return event


def _beginning(text: str) -> str:
    return _mask(text[: MOST_LETTERS + MARGIN])[: len(_mask(text[:MOST_LETTERS]))]


def _end(traceback: str) -> str:
    more = len(traceback) - MOST_OF_TRACEBACK
    if more <= 0:
        return traceback
    since = max(0, more - MARGIN)
    left_out = len(_mask(traceback[since:more]))
    return f"({more:,} more) …{_mask(traceback[since:])[left_out:]}"


def without_secrets(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A structlog processor: values under telling names, and secrets inside texts, become `[hidden]`."""
    for name, value in event.items():
        if _SECRET_NAMES.search(name):
            event[name] = "[hidden]"
        elif isinstance(value, str):
            event[name] = _mask(value)
    return event


def _mask(text: str) -> str:
    for secret in _SECRET_TEXTS:
        text = secret.sub(r"\1[hidden]", text)
    return text


def of_process(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A structlog processor: which of several processes says it."""
    if PLACE is not None:
        event["process"] = PLACE.name
    return event


_SHARED = (
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.StackInfoRenderer(),
    structlog.processors.format_exc_info,
    of_turn,
    in_words,
    shortened,
    without_secrets,
    of_process,
)


def configure_structlog() -> None:
    """Our own loggers (`structlog.get_logger()`) go through the standard library's, as everybody else's do."""
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_SHARED,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


def logging_settings(level: str, form: str = "logfmt") -> dict[str, Any]:
    """Django's LOGGING: everything of `level` and above. `form`: `logfmt` or `json`."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": [structlog.stdlib.ExtraAdder(), *_SHARED],
                "processors": [
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    *_LINES[form],
                ],
            }
        },
        "filters": {"quiet": {"()": lambda: _quietly}},
        "handlers": {
            "stderr": {
                "class": "logging.StreamHandler",
                "formatter": "line",
                "filters": ["quiet"],
            }
        },
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            "django": {"handlers": [], "level": level, "propagate": True},
            "django.server": {"handlers": [], "level": level, "propagate": True},
            # It writes whatever a template was given, the secrets that a page shows once among them.
            "django.template": {"level": "INFO" if level == "DEBUG" else level},
            # A 404 is the caller's news, not ours.
            "django.request": {"level": "ERROR"},
            "uvicorn": {"handlers": [], "level": level, "propagate": True},
        },
    }


#: What uvicorn says of requests that strangers send, and that are answered: they could fill the log.
_CALLERS_NEWS = frozenset(
    {
        # of every websocket that was refused with a status of its own
        "ASGI callable returned without completing handshake.",
    }
)


def _quietly(record: logging.LogRecord) -> bool:
    """Of a Redis that is away its layer writes a traceback each second, and Django one for each request with a strange
    Host header; the sentence will do."""
    if record.name == "django.security.DisallowedHost":
        record.msg, record.args, record.exc_info = record.getMessage()[:200], (), None
    if record.name.startswith("channels_redis") and record.exc_info:
        record.msg, record.args, record.exc_info = f"Redis does not answer: {record.exc_info[1]}", (), None
    return record.getMessage() not in _CALLERS_NEWS


def _as_texts(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """The renderer refuses names with spaces, and values it does not know."""
    return {
        re.sub(r"\s", "_", visible(name)): value if isinstance(value, (int, float)) else visible(str(value))
        for name, value in event.items()
    }


def _as_json(_logger: object, _method: str, event: MutableMapping[str, Any]) -> str:
    """One object on one line. What is no value of JSON becomes its text; beyond ASCII all is escaped."""
    return json.dumps(event, default=str).replace("\x7f", "\\u007f")


#: The last processors of each form.
_LINES: dict[str, tuple[Any, ...]] = {
    "logfmt": (
        _as_texts,
        structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "logger", "event"]),
    ),
    "json": (_as_json,),
}

#: What steers the terminal that a log is read in, ends a line for some readers, or turns the direction of reading. Line
#: feeds are not among them: the renderer writes each as an escape.
_UNSEEN = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")


def visible(text: str) -> str:
    """The text with every such character written as its escape."""
    return _UNSEEN.sub(lambda found: ascii(found[0])[1:-1], text)
