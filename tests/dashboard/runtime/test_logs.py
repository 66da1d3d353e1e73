import pytest

from dashboard.runtime.logs import without_secrets


@pytest.mark.parametrize("name", ["Authorization", "api_key", "OPENAI_API_KEY", "password", "cookie", "client_secret"])
def test_what_has_a_telling_name_is_hidden(name: str):
    assert without_secrets(None, "info", {name: "hunter2"}) == {name: "[hidden]"}


@pytest.mark.parametrize(
    "text",
    [
        "sent Authorization: Bearer hunter2hunter2",
        "GET /sign-in/?code=hunter2hunter2&next=/",
        "connecting to postgresql://me:hunter2hunter2@host/why",
        "wrong key sk-hunter2hunter2",
        "wrong key whyk_hunter2hunter2",
    ],
)
def test_a_secret_inside_a_text_is_masked(text: str):
    shown = without_secrets(None, "info", {"event": text})["event"]
    assert "hunter2" not in shown
    assert "[hidden]" in shown


def test_everything_else_stays():
    event = {"event": "turn_ended", "turn": "0190", "output_tokens": 12, "stop_reason": "completed"}
    assert without_secrets(None, "info", dict(event)) == event
