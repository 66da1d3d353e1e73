"""Test a connection: ask its server, for a few tokens, whether it really continues a last assistant message."""

from asgiref.sync import async_to_sync

from agentcore.errors import ProviderError
from agentcore.messages import ChatRequest, ChatResponse
from agentcore.providers import get_provider
from dashboard.agents.models import Connection
from dashboard.agents.probes import CAN, CAP, CASES, Case, Finding, Probe, both, judged, quoted, request_of, ways_of
from dashboard.live.model_call import Exchange
from dashboard.live.transport import Transport
from dashboard.turns.history import body_text
from dashboard.turns.recorder import CallRow

SECONDS = 30.0  #: for one answer
#: Statuses by which servers refuse what a request says. Others say that it was not looked at.
_REFUSALS = frozenset({400, 405, 409, 415, 422, 501})


def connection_probe(*, connection: Connection, model: str) -> Probe:
    """Ask, keep what was found with the connection, and use it."""
    probe = async_to_sync(probed)(connection, model)
    connection.take(probe)
    connection.save()
    return probe


async def probed(connection: Connection, model: str) -> Probe:
    """What the server of this connection does with this model."""
    finding, way, why = await _found(connection, model)
    return Probe(finding, way, why, model, connection.provider, connection.base_url)


async def _found(connection: Connection, model: str) -> tuple[Finding, str, str]:
    ways = ways_of(connection.provider, model)
    if not ways:
        return Finding.REFUSES, "", "This API or model does not accept one, so it was not tested."
    async with Transport() as transport:
        asking = _Asking(connection, model, transport)
        seen = []
        for way in ways:
            finding, why = await asking.tried(way)
            if finding in CAN:
                return finding, way, why
            if finding is None:
                return Finding.UNKNOWN, "", why
            seen.append((finding, why))
        return await asking.weighed(seen)


class _Asking:
    """One connection's answers, one after the other."""

    def __init__(self, connection: Connection, model: str, transport: Transport) -> None:
        self._connection = connection
        self._model = model
        self._transport = transport

    async def tried(self, way: str) -> tuple[Finding | None, str]:
        """What the server does where it is told in this way; None: it answers nothing that could be judged."""
        findings, why = [], ""
        for case in CASES:
            answer = await self._answer(self._request(case, way))
            if isinstance(answer, ProviderError):
                refused = answer.status in _REFUSALS
                return Finding.REFUSES if refused else None, f"The server said: {answer.message}"
            findings.append(judged(case, answer))
            if findings[-1] not in CAN:
                why = f"Asked to continue “…{case.said[-24:]}”, {quoted(answer)}."
                break
        return both(findings), why

    async def weighed(self, seen: list[tuple[Finding, str]]) -> tuple[Finding, str, str]:
        """What follows where no way was found. A refusal counts if the same question alone is answered."""
        finding, why = next((one for one in seen if one[0] is not Finding.REFUSES), seen[0])
        if finding is Finding.REFUSES:
            alone = await self._answer(self._request(CASES[0], None))
            if isinstance(alone, ProviderError):
                return Finding.UNKNOWN, "", f"The server does not answer requests. It said: {alone.message}"
        return finding, "", why

    def _request(self, case: Case, way: str | None) -> ChatRequest:
        settings = {name: getattr(self._connection, name) for name in ("hint_role", "max_tokens_field")}
        return request_of(case, self._model, settings, way)

    async def _answer(self, request: ChatRequest) -> ChatResponse | ProviderError:
        provider = get_provider(self._connection.provider)
        body = provider.encode_request(request)
        url = self._connection.base_url.rstrip("/") + provider.path(request)
        call = CallRow(1, "initial", 1, provider.name, self._model, CAP, url, body, (), body_text(dict(body)))
        exchange = Exchange(
            call, call.text.encode(), provider, self._connection, self._transport, _keep_nothing, SECONDS
        )
        ending = await exchange.run()
        if ending.error is not None:
            return ending.error
        assert ending.response is not None, "a call ends in an answer or an error"
        return ending.response.error or ending.response


async def _keep_nothing(_n: int, _raw: bytes, _text: str) -> None:
    """A test is no turn: nothing of it is kept but what it found."""
