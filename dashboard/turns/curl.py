"""An attempt as a command for a shell: the same bytes to the same address. A key stands in it by its variable's name
alone, so that the command can be shown, kept and handed on."""

import re
import shlex
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from agentcore.providers import PROVIDERS
from dashboard.turns.models import Attempt, Turn

KEY = "\ue000"  #: stands for the key until its variable's name does
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: Bytes of a body that one argument of a program can hold; a longer one goes through a pipe.
ONE_ARGUMENT = 100_000
_REGION_IN_HOST = re.compile(r"(?:^|\.)bedrock-runtime(?:-fips)?\.([a-z0-9-]+)\.")


def curl_command(turn: Turn, attempt: Attempt, body: str) -> str:
    """A command for bash that sends `body` (ASCII, as it was sent) where the attempt sent it.

    The key is that of the connection the turn's agent has now; an agent that is gone leaves none.
    """
    arguments = ["curl --globoff --silent --show-error --no-buffer", shlex.quote(attempt.request_url)]
    arguments += [f"--header {header}" for header in _headers(turn, attempt)]
    piped = len(body) > ONE_ARGUMENT
    arguments.append(f"--data-binary {'@-' if piped else shlex.quote(body)}")
    command = " \\\n  ".join(arguments)
    return f"printf %s {shlex.quote(body)} | {command}" if piped else command


def _headers(turn: Turn, attempt: Attempt) -> Iterator[str]:
    name = turn.agent.connection.api_key_env if turn.agent else ""
    known = name if name and NAME.fullmatch(name) else ""
    for header, value in _wire_headers(attempt.provider, KEY if known else None).items():
        yield _quoted(f"{header}: {value}", known)
    if attempt.provider == "bedrock" and not known:
        yield from _signature(attempt.request_url)


def _wire_headers(provider: str, key: str | None) -> Mapping[str, str]:
    """Those of the provider's dialect. An imported attempt may name a provider that this version does not know."""
    codec = PROVIDERS.get(provider)
    return codec.headers(key) if codec else {"content-type": "application/json"}


def _quoted(text: str, name: str) -> str:
    """The text for a shell, with the variable's value where the key is to be."""
    before, found, after = text.partition(KEY)
    return f'{shlex.quote(before)}"${name}"{shlex.quote(after) if after else ""}' if found else shlex.quote(text)


def _signature(url: str) -> Iterator[str]:
    found = _REGION_IN_HOST.search(urlsplit(url).hostname or "")
    region = found[1] if found else "$AWS_REGION"
    yield (
        '"x-amz-security-token: $AWS_SESSION_TOKEN" '
        f'--aws-sigv4 "aws:amz:{region}:bedrock" --user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY"'
    )
