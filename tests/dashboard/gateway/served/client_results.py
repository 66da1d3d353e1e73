"""What a client of the gateway hears, in one line: the reason and the text, or the error."""

from typing import Any

from tests.dashboard.gateway.served.gate import Answer
from tests.golden.contract import faults_of


def heard(answer: Answer, *, ours: bool = True) -> str:
    """Such as `stop: whole`, `error 502 not_dialect`, `half, then error connection`.

    `ours`: it was put together by the gateway, so a stream must keep the contract.
    """
    if not answer.headers.get("content-type", "").startswith("text/event-stream"):
        return _whole(answer)
    if ours:
        assert faults_of(answer.body.decode()) == []
    errors = [chunk["error"] for chunk in answer.chunks if isinstance(chunk, dict) and chunk.get("error")]
    if errors:
        return f"{_text(answer)}, then error {_code(errors[-1])}"
    return f"{'+'.join(answer.finish_reasons)}: {_text(answer)}"


def _whole(answer: Answer) -> str:
    said = answer.json
    if "choices" not in said:
        error = said["error"]
        assert error["message"]
        assert error["type"]
        return f"error {answer.status} {_code(error)}"
    message = said["choices"][0]["message"]
    return f"{said['choices'][0]['finish_reason']}: {message['content']}"


def _text(answer: Answer) -> str:
    return "".join((delta or {}).get("content") or "" for delta in answer.deltas)


def _code(error: Any) -> Any:
    return error.get("code") if isinstance(error, dict) else error
