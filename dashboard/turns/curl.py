"""An attempt as a command for a shell: the same bytes to the same address. A key stands in it by its variable's name
alone, so that the command can be shown, kept and handed on.

Whoever made a file that was imported has chosen its addresses and bodies. A key is named only where the address is that
of the connection; and nothing that was stored can become an option of curl, a file it reads, or a word of the shell.
"""

import re
import shlex
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from agentcore.providers import PROVIDERS
from dashboard.platform.egress.keys import names
from dashboard.turns.models import Attempt, Turn

KEY = "\ue000"  #: stands for the key until its variable's name does
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: Bytes of a body that one argument of a program can hold; a longer one goes through a pipe.
ONE_ARGUMENT = 100_000
#: What curl takes for an address and for nothing else: no option, no file, no other protocol, nothing that is hidden.
ADDRESS = re.compile(r"(?i:https?)://[^\s\x00-\x20\x7f-\x9f\\@/?#]+(?:[/?#][^\s\x00-\x20\x7f-\x9f\\]*)?")
#: A segment by which curl leaves a path for the one above it: the address goes elsewhere than it begins.
UPWARDS = re.compile(r"/(?:\.|%2[eE]){1,2}(?:[/?#]|$)")
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
WRITTEN_OUT = re.compile(rf"{CONTROLS.pattern}|!")
_REGION_IN_HOST = re.compile(r"(?:^|\.)bedrock-runtime(?:-fips)?\.([a-z0-9-]+)\.")


def curl_command(turn: Turn, attempt: Attempt, body: str) -> str:
    """A command for bash that sends `body` (ASCII, as it was sent) where the attempt sent it; a comment where that is
    no address.

    The key is that of the connection the turn's agent has now; an agent that is gone leaves none.
    """
    # Signs that are not seen, or turn the direction of what follows them, show another address than is called.
    if not (ADDRESS.fullmatch(attempt.request_url) and attempt.request_url.isprintable()):
        return "# The stored address of this request is not valid, so there is no command for it."
    arguments = ["curl --globoff --proto =http,https --silent --show-error --no-buffer"]
    arguments.append(f"--url {shlex.quote(attempt.request_url)}")
    arguments += [f"--header {header}" for header in _headers(turn, attempt)]
    piped = len(body) > ONE_ARGUMENT
    # `--data-binary` would read a file where a body begins with @.
    arguments.append("--data-binary @-" if piped else f"--data-raw {_literal(body)}")
    command = " \\\n  ".join(arguments)
    return f"printf %s {_literal(body)} | {command}" if piped else command


def goes_to_its_connection(turn: Turn, attempt: Attempt) -> bool:
    """Whether the address is one of the connection that the turn's agent has now, so that its key may go there."""
    if turn.agent is None or UPWARDS.search(attempt.request_url):
        return False
    return attempt.request_url.startswith(turn.agent.connection.base_url.rstrip("/") + "/")


def _literal(text: str) -> str:
    """One word of bash. Signs that a terminal would obey are written out, so that the command can be pasted."""
    if not CONTROLS.search(text):
        return shlex.quote(text)
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return "$'" + WRITTEN_OUT.sub(lambda found: f"\\x{ord(found[0]):02x}", escaped) + "'"


def _headers(turn: Turn, attempt: Attempt) -> Iterator[str]:
    own = goes_to_its_connection(turn, attempt)
    name = turn.agent.connection.api_key_env if own and turn.agent else ""
    known = name if NAME.fullmatch(name) and names().may_go(name, attempt.request_url) else ""
    for header, value in _wire_headers(attempt.provider, KEY if known else None).items():
        yield _quoted(f"{header}: {value}", known)
    if attempt.provider == "bedrock" and not name and own and names().may_sign(attempt.request_url):
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
