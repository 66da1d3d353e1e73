"""The seam: scripts for the simulator, and what their calls were asked with. Closed unless WHYSTOP_TEST_SEAM=1."""

# ruff: noqa: ARG001 - every view is given its request

from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from ninja import Router, Status
from ninja.errors import HttpError

from agentcore.quoting import quoted
from dashboard.api.callers import Caller
from dashboard.api.conformance import schemas
from dashboard.api.conformance.capabilities import capabilities
from dashboard.api.conformance.script_validation import answers_of, name_clean
from dashboard.simulator.dialects import BASES
from dashboard.simulator.scripts import PREFIX, SCRIPTS, Received, ScriptProgress

CLOSED = (
    "The test seam is closed. To open it, start Whystop with WHYSTOP_TEST_SEAM=1, on a machine that serves nobody else."
)
ELSEWHERE = (
    "This web server does not run the simulator, so a script would have no effect. Start both with `manage.py up`."
)


class SeamCaller(Caller):
    """A caller who may come in, where the seam is open. Judged before anything that was sent."""

    def __call__(self, request: HttpRequest) -> Any:
        user = super().__call__(request)
        if user is not None and not settings.ENVIRONMENT.test_seam:
            raise HttpError(404, CLOSED)
        return user


router = Router(tags=["conformance"])
seam = Router(tags=["conformance"], auth=SeamCaller())


@router.get("/capabilities", response=schemas.Capabilities, summary="Get the capabilities of this host")
def capabilities_get(request: HttpRequest) -> dict[str, Any]:
    """Capabilities for envelopes: the reported events, the maximum number of calls, and that truncated answers are
    distinguished from invalid ones.

    The same is at `/.well-known/openwop`.
    """
    return capabilities()


@seam.post("/simulator/scripts", response={201: schemas.Script}, summary="Write a script for the simulator")
def script_create(request: HttpRequest, body: schemas.SimulatorScript) -> Status[dict[str, Any]]:
    """The model `script-<name>` answers by it from now on, its first call first. One of the same name is written over.

    Only with WHYSTOP_TEST_SEAM=1; else there is nothing here. 409 where the simulator is not in this process.
    """
    name, program = name_clean(body.name), answers_of(body)
    if SCRIPTS.served_at is None:
        raise HttpError(409, ELSEWHERE)
    SCRIPTS.put(name, program)
    return Status(201, _script(_standing(name)))


@seam.get("/simulator/scripts", response=list[schemas.Script], summary="List scripts")
def script_list(request: HttpRequest) -> list[dict[str, Any]]:
    """All of them, by name. Only with WHYSTOP_TEST_SEAM=1."""
    return [_script(standing) for standing in SCRIPTS.all()]


@seam.get("/simulator/scripts/{name}", response=schemas.Script, summary="Get a script")
def script_get(request: HttpRequest, name: str) -> dict[str, Any]:
    """How far it has come. Only with WHYSTOP_TEST_SEAM=1."""
    return _script(_standing(name))


@seam.delete("/simulator/scripts/{name}", response={204: None}, summary="Delete a script")
def script_delete(request: HttpRequest, name: str) -> Status[None]:
    """Its model is gone. Only with WHYSTOP_TEST_SEAM=1."""
    if not SCRIPTS.delete(name):
        raise _missing(name)
    return Status(204, None)


@seam.get("/simulator/scripts/{name}/calls", response=schemas.ReceivedCalls, summary="List a script's calls")
def script_calls(request: HttpRequest, name: str) -> dict[str, Any]:
    """What each call asked with: its budget, its system prompt, its messages. Only with WHYSTOP_TEST_SEAM=1."""
    standing = _standing(name)
    last = standing.calls[-1] if standing.calls else None
    return {
        "name": name,
        "model": PREFIX + name,
        "total": standing.number,
        "lastReceivedMaxTokens": last.max_tokens if last else None,
        "lastReceivedSystemPrompt": last.system_prompt if last else None,
        "calls": [_call(name, received) for received in standing.calls],
    }


def _standing(name: str) -> ScriptProgress:
    standing = SCRIPTS.get(name)
    if standing is None:
        raise _missing(name)
    return standing


def _missing(name: str) -> HttpError:
    return HttpError(404, f"There is no script {quoted(name)}; write it first.")


def _script(standing: ScriptProgress) -> dict[str, Any]:
    server = SCRIPTS.served_at or ""
    return {
        "name": standing.name,
        "model": PREFIX + standing.name,
        "answers": standing.answers,
        "calls": standing.number,
        "base_urls": {dialect: server + base for dialect, base in BASES.items()},
    }


def _call(name: str, received: Received) -> dict[str, Any]:
    return {
        "call": received.number,
        "provider": received.dialect,
        "model": PREFIX + name,
        "stream": received.stream,
        "max_tokens": received.max_tokens,
        "system_prompt": received.system_prompt,
        "messages": [{"role": line.speaker.value, "text": line.text} for line in received.messages],
        "at": datetime.fromtimestamp(received.at, UTC),
    }
