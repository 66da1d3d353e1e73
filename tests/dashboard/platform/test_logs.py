import io
import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import structlog
from structlog.contextvars import bound_contextvars

from dashboard.platform import logs
from dashboard.platform.logs import logging_settings, of_process, without_secrets
from dashboard.platform.process_identity import ProcessIdentity
from tests.together import together


@pytest.mark.parametrize("name", ["Authorization", "api_key", "OPENAI_API_KEY", "password", "cookie", "client_secret"])
def test_values_with_a_sensitive_name_are_hidden(name: str):
    assert without_secrets(None, "info", {name: "hunter2"}) == {name: "[hidden]"}


@pytest.mark.parametrize(
    "text",
    [
        "sent Authorization: Bearer hunter2hunter2",
        "GET /sign-in/?code=hunter2hunter2&next=/",
        "POST /v1beta/models/m:generateContent?alt=sse&key=hunter2hunter2",
        "connecting to postgresql://me:hunter2hunter2@host/why",
        "wrong key sk-hunter2hunter2",
        "wrong key whyk_hunter2hunter2",
        "Internal Server Error: /share/hunter2hunter2",
        "signed with whsec_hunter2/hunter2+hunter2=",
    ],
)
def test_a_secret_inside_a_text_is_masked(text: str):
    shown = without_secrets(None, "info", {"event": text})["event"]
    assert "hunter2" not in shown
    assert "[hidden]" in shown


def test_template_context_is_not_logged_even_at_debug():
    """Django writes the whole context for each variable that is missing: forms, new keys, recovery codes."""
    assert logging_settings("DEBUG")["loggers"]["django.template"]["level"] == "INFO"
    assert logging_settings("ERROR")["loggers"]["django.template"]["level"] == "ERROR"


def test_everything_else_is_kept():
    event = {"event": "turn_ended", "turn": "0190", "output_tokens": 12, "stop_reason": "completed"}
    assert without_secrets(None, "info", dict(event)) == event


UNSEEN = [*map(chr, (*range(0x20), *range(0x7F, 0xA0))), *"\u2028\u2029\u200e\u202e\u2066\u061c\ufeff"]


@pytest.fixture
def logged(request: pytest.FixtureRequest) -> Iterator[Callable[..., str]]:
    """What a logger as the product has it writes; as logfmt, or in the form that a test names."""
    settings = logging_settings("DEBUG", getattr(request, "param", "logfmt"))
    made = settings["formatters"]["line"]
    formatter = structlog.stdlib.ProcessorFormatter(
        processors=made["processors"], foreign_pre_chain=made["foreign_pre_chain"]
    )
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    handler.setFormatter(formatter)
    logger = logging.getLogger("a logger of this test")
    logger.addHandler(handler)

    def write(*said: object, **named: object) -> str:
        logger.error(*said, **named)
        return out.getvalue()

    yield write
    logger.removeHandler(handler)


@pytest.mark.parametrize("text", ["a{}b", "a{}b = c", "{}", 'a"{}\\', "a{0}{0}b\\n"])
def test_logged_text_cannot_start_a_line_or_control_a_terminal(logged: Callable[..., str], text: str):
    for count, character in enumerate(UNSEEN, 1):
        said = text.format(character)
        lines = logged("Not found: %s", said, extra={f"of{character}it": said, "more": [said]})
        assert lines.count("\n") == count
        assert lines.endswith("\n")
    assert set(UNSEEN) & set(lines) == {"\n"}


@pytest.mark.parametrize("logged", ["json"], indirect=True)
def test_a_line_about_a_turns_job_has_the_turn_id(logged: Callable[..., str]):
    def turn_of(job: object) -> str | None:
        return json.loads(logged("Starting job", extra={"job": job}).splitlines()[-1]).get("turn")

    assert turn_of({"id": 1, "task_name": "drive_turn", "task_kwargs": {"turn_id": "0190"}}) == "0190"
    assert turn_of({"task_kwargs": {"backtest_id": "0191"}}) is None
    assert turn_of("none") is None


def test_a_traceback_is_on_one_line_with_its_error_message(logged: Callable[..., str]):
    try:
        raise ValueError("\x1b[31mred\r\ntimestamp=2026-01-01 level=info event=forged")
    except ValueError:
        line = logged("it failed", exc_info=True)
    assert line.count("\n") == 1
    assert "\x1b" not in line
    assert "ValueError" in line


@pytest.mark.parametrize("logged", ["logfmt", "json"], indirect=True)
def test_a_line_stays_short_for_any_content(logged: Callable[..., str]):
    try:
        raise ValueError("y" * 1_000_000)
    except ValueError:
        line = logged("x" * 1_000_000, exc_info=True)
    assert len(line) < 30_000
    assert "998,000 more" in line
    assert "y" * 1000 in line


@together
@pytest.mark.parametrize("word", ["Authorization: Bearer ", "api_key=", "postgresql://me:", "sk-", "whyk_"])
@pytest.mark.parametrize("cut", [0, 1, 5, 20])
@pytest.mark.parametrize("name", ["exception", "event"])
def test_a_secret_split_by_a_cut_is_not_logged_in_part(word: str, cut: int, name: str):
    secret = "hunter2" * 6
    if name == "exception":
        rest = logs.MOST_OF_TRACEBACK - (len(secret) - cut)
        said = f"{' x' * 50_000} {word}{secret}@host{' ' * (rest - 5)}"
    else:
        said = f"{' ' * (logs.MOST_LETTERS - len(word) - cut)}{word}{secret}@host{' x' * 50_000}"
    event = logs.shortened(None, "error", {name: said})
    told = without_secrets(None, "error", event)[name]
    assert "hunter" not in told
    assert "unter2" not in told
    assert len(told) < len(said) / 3


class Odd:
    """A value that is no text, such as a request or an error."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text


@pytest.mark.parametrize("logged", ["logfmt", "json"], indirect=True)
@pytest.mark.parametrize("make", [Odd, ValueError, lambda text: [text], lambda text: {"said": text}])
def test_non_text_values_are_masked_and_shortened_too(logged: Callable[..., str], make: Callable[[str], object]):
    """Django hands over the whole request of an answer 500, whose address may be a share link."""
    line = logged("it failed", extra={"request": make("<GET '/share/hunter2hunter2'> " + "x" * 100_000)})
    assert "hunter2" not in line
    assert len(line) < 10_000


def test_an_unknown_host_is_a_short_line_however_often_it_occurs():
    quietly = logging_settings("INFO")["filters"]["quiet"]["()"]()
    error, said = ValueError("no such host"), "Invalid HTTP_HOST header: %s"
    name = "django.security.DisallowedHost"
    record = logging.LogRecord(name, logging.ERROR, "", 0, said, ("x" * 9000,), (ValueError, error, None))
    assert quietly(record)
    assert record.exc_info is None
    assert record.getMessage().startswith("Invalid HTTP_HOST header: xxx")
    assert len(record.getMessage()) == 200


def test_text_without_control_characters_is_written_unchanged(logged: Callable[..., str]):
    assert 'event="Ende: größer – 你好"' in logged("Ende: größer – 你好")


def test_each_line_names_its_process_where_there_are_several(monkeypatch: pytest.MonkeyPatch):
    assert of_process(None, "info", {"event": "x"}) == {"event": "x"}
    monkeypatch.setattr(logs, "PLACE", ProcessIdentity("2", 3, "/", link=9))
    assert of_process(None, "info", {"event": "x"}) == {"event": "x", "process": "2"}


@pytest.mark.parametrize("logged", ["json"], indirect=True)
def test_a_json_line_is_one_object_with_the_turn_id_and_without_secrets(logged: Callable[..., str]):
    said = "".join(UNSEEN)
    with bound_contextvars(turn="0199"):
        line = logged("it %s", said, extra={"api_key": "sk-12345678", "left": 3, "place": Path("/x")})
    assert line.count("\n") == 1
    assert not set(UNSEEN) & set(line) - {"\n"}
    told = json.loads(line)
    assert told["event"] == f"it {said}"
    assert (told["turn"], told["api_key"], told["left"], told["place"]) == ("0199", "[hidden]", 3, "/x")
    assert (told["level"], told["logger"]) == ("error", "a logger of this test")
