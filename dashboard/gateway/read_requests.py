"""What is read at the gateway rather than posted: the models there are, and answers that were given before."""

from collections.abc import Iterable
from urllib.parse import parse_qs

from dashboard.gateway import stored_responses
from dashboard.gateway.access.callers import Caller
from dashboard.gateway.address_faults import GEMINI_MODELS, MODELS, RESPONSES, Scope, unknown_address, wrong_method
from dashboard.gateway.model_list import IN_GEMINIS_FORM, IN_OPENAIS_FORM, models_of
from dashboard.gateway.serving.response_writer import ResponseWriter
from dashboard.gateway.wire.faults import Fault, unsupported
from dashboard.gateway.wire.gemini.dialect import GEMINI


async def answer_read(scope: Scope, path: str, outgoing: ResponseWriter, caller: Caller, posted: Iterable[str]) -> None:
    """What is read rather than posted, and what is not here."""
    listed = f"{path}/".startswith((f"{MODELS}/", f"{GEMINI_MODELS}/"))
    if listed:
        await _models(scope, outgoing, caller, posted)
    elif path.startswith(f"{RESPONSES}/") and path.count("/") == RESPONSES.count("/") + 1:
        await _kept(scope, outgoing, caller)
    else:
        await outgoing.fault(unknown_address(scope, posted))


async def _models(scope: Scope, outgoing: ResponseWriter, caller: Caller, posted: Iterable[str]) -> None:
    if scope["method"] not in ("GET", "HEAD"):
        is_unknown = scope["method"] == "POST" and ":" in scope["path"]  # `models/x:nope`: Gemini's form of a call
        await outgoing.fault(unknown_address(scope, posted) if is_unknown else wrong_method(scope, "GET"))
        return
    wanted = scope["path"].removeprefix(GEMINI_MODELS).removeprefix(MODELS).strip("/")
    answer = await models_of(caller, wanted, IN_GEMINIS_FORM if outgoing.door is GEMINI else IN_OPENAIS_FORM)
    if isinstance(answer, Fault):
        await outgoing.fault(answer)
    else:
        await outgoing.whole(200, answer)


async def _kept(scope: Scope, outgoing: ResponseWriter, caller: Caller) -> None:
    """An answer that was told before: read again, or forgotten."""
    answer_id = scope["path"].rstrip("/").rpartition("/")[2]
    query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
    if scope["method"] not in ("GET", "DELETE"):
        answer: bytes | Fault = wrong_method(scope, "GET or DELETE")
    elif query.get("stream", ["false"])[0].lower() == "true":
        answer = unsupported("stream", "a stored answer is sent whole")
    else:
        answer = await (stored_responses.forget if scope["method"] == "DELETE" else stored_responses.read_again)(
            caller, answer_id
        )
    if isinstance(answer, Fault):
        await outgoing.fault(answer)
    else:
        await outgoing.whole(200, answer)
