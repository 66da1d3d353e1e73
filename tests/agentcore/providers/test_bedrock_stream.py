"""How streams of Converse end: naturally, broken off, damaged, or in an exception."""

import pytest

from agentcore.errors import DecodeError, ErrorType
from agentcore.messages import ChatResponse
from agentcore.reasons import NormalizedStopReason as Reason
from tests.agentcore.providers.wires import (
    answer_events,
    chunks,
    converse,
    framed,
    grown,
    read,
)
from tests.together import together


def streamed(*events: dict, reason: str | None = "end_turn", cap: int | None = None, output: int = 9) -> ChatResponse:
    return read("bedrock", converse(*answer_events(*events, reason=reason, output=output)), cap=cap)


def test_a_stream_that_breaks_off_never_ends_naturally():
    response = streamed(grown(0, text="Once upon"), reason=None)
    assert (response.stop_reason, response.text, response.incomplete_stream) == (Reason.UNKNOWN, "Once upon", True)
    assert response.error is not None
    cut = converse(*answer_events(grown(0, text="Once upon")))[:-150]
    assert read("bedrock", cut[: cut.index(b"messageStop")]).incomplete_stream


def test_a_damaged_message_ends_the_stream_as_incomplete():
    body = bytearray(converse(*answer_events(grown(0, text="Once upon"), grown(0, text=" a time"))))
    body[body.index(b" a time") + 1] ^= 1
    response = read("bedrock", bytes(body))
    assert (response.text, response.incomplete_stream) == ("Once upon", True)


def test_a_reason_is_valid_without_the_usage_that_follows_it():
    body = converse(*answer_events(grown(0, text="Hi"))[:-1])
    response = read("bedrock", body)
    assert (response.stop_reason, response.incomplete_stream, response.usage) == (Reason.END_TURN, False, None)


def test_an_end_without_a_reason_is_unknown_but_complete():
    response = read(
        "bedrock", converse(*answer_events(grown(0, text="Hi"), reason=None), {"metadata": {"metrics": {}}})
    )
    assert (response.stop_reason, response.raw_stop_reason, response.incomplete_stream) == (Reason.UNKNOWN, None, False)


EXCEPTIONS = [
    ("internalServerException", ErrorType.MODEL, "server", True),
    ("modelStreamErrorException", ErrorType.MODEL, "server", True),
    ("modelTimeoutException", ErrorType.TIMEOUT, "timeout", True),
    ("validationException", ErrorType.MODEL, "invalid_request", False),
    ("throttlingException", ErrorType.RATE_LIMIT, "rate_limit", True),
    ("serviceUnavailableException", ErrorType.MODEL, "unavailable", True),
    ("somethingNewException", ErrorType.MODEL, "server", True),
]


@together
@pytest.mark.parametrize(("name", "type", "kind", "retryable"), EXCEPTIONS)
def test_an_exception_in_the_stream_is_an_error_in_both_forms(name, type, kind, retryable):
    said = {"message": "It went wrong."}
    begun = answer_events(grown(0, text="Once upon"), reason=None)
    streams = [
        converse(*begun) + framed(said, message_type="exception", exception_type=name),
        converse(*begun, {name: said}),
        chunks(*begun) + framed(said, message_type="exception", exception_type=name),
        chunks(*begun, {name: said}),
    ]
    for stream in streams:
        response = read("bedrock", stream, size=11)
        assert (response.text, response.stop_reason, response.incomplete_stream) == ("Once upon", Reason.UNKNOWN, False)
        error = response.error
        assert error is not None
        assert (error.type, error.kind, error.retryable, error.code, error.message) == (
            type,
            kind,
            retryable,
            name,
            said["message"],
        )


def test_a_context_window_that_fills_up_mid_stream_is_a_stop_reason():
    said = {"message": "Input is too long for requested model."}
    response = read("bedrock", framed(said, message_type="exception", exception_type="validationException"))
    assert response.stop_reason is Reason.CONTEXT_WINDOW_EXCEEDED


def test_a_transport_error_is_an_error():
    response = read("bedrock", framed(b"", message_type="error", error_code="InternalFailure", error_message="Oops"))
    assert response.error is not None
    assert (response.error.code, response.error.message) == ("InternalFailure", "Oops")


def test_a_frame_cut_anywhere_before_its_reason_never_ends_naturally():
    body = converse(*answer_events(grown(0, text="Once")))
    told = body.index(b"messageStop") + len(b"messageStop")
    for end in range(body.index(b"contentBlockDelta") + 200, told, 7):
        response = read("bedrock", body[:end])
        assert (response.stop_reason, response.incomplete_stream) == (Reason.UNKNOWN, True)


@together
@pytest.mark.parametrize("at", [0, 3, 5, 9, 13])
def test_a_damaged_first_message_is_not_an_answer(at):
    body = bytearray(converse(*answer_events(grown(0, text="Once"))))
    body[at] ^= 1 if at else 0x7F
    with pytest.raises(DecodeError):
        read("bedrock", bytes(body))


def test_bytes_after_the_end_are_not_read():
    body = converse(*answer_events(grown(0, text="Hi")))
    assert read("bedrock", body + b"garbage" * 9) == read("bedrock", body)


def test_an_exception_after_the_reason_still_takes_precedence():
    body = converse(*answer_events(grown(0, text="Hi")))
    body += framed({"message": "Oops"}, message_type="exception", exception_type="internalServerException")
    response = read("bedrock", body)
    assert (response.stop_reason, response.text, response.error.kind) == (Reason.UNKNOWN, "Hi", "server")


def test_the_status_quoted_by_a_model_error_is_used():
    said = {"message": "boom", "originalStatusCode": 429, "originalMessage": "slow down"}
    response = read("bedrock", framed(said, message_type="exception", exception_type="modelStreamErrorException"))
    assert (response.error.type, response.error.status) == (ErrorType.RATE_LIMIT, 429)
