import pytest
from django.core.exceptions import ValidationError

from dashboard.agents.selectors import project_default
from dashboard.tools.services import mcp_server_create, mcp_server_look

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({"name": "a_b"}, "name", "letters a–z, digits and dashes"),
        ({"url": "ftp://x"}, "url", "must begin with http"),
        ({"url": ""}, "url", "must begin with http"),
        ({"command": "rm"}, "command", "needs no command"),
        ({"key_env": "sk-secret"}, "key_env", "looks like the key itself"),
        ({"key_env": "DATABASE_URL"}, "key_env", "a secret of Whystop"),
        ({"key_env": "AWS_SECRET_ACCESS_KEY"}, "key_env", "not among the variables that may be sent"),
        ({"key_header": "Content-Type"}, "key_header", "cannot be sent in this header"),
        ({"key_header": "X\r\nY"}, "key_header", "cannot be sent in this header"),
        ({"timeout": 0}, "timeout", "at least 0.1"),
        ({"args": ["a", 1]}, "args", "a JSON list"),
        ({"transport": "stdio", "url": "", "command": "x"}, "transport", "WHYSTOP_MCP_STDIO=1"),
        ({"transport": "carrier pigeon"}, "transport", "not one of the choices"),
    ],
)
def test_an_invalid_server_is_refused_beside_the_field(fields, field, words):
    good = {"name": "near", "url": "http://127.0.0.1:9/mcp"}
    with pytest.raises(ValidationError) as refused:
        mcp_server_create(project=project_default(), **{**good, **fields})
    assert words in " ".join(refused.value.message_dict[field])


@pytest.mark.parametrize(("fields", "field"), [({"command": ""}, "command"), ({"url": "http://x/"}, "url")])
def test_an_invalid_command_is_refused_beside_the_field(stdio_allowed, fields, field):
    with pytest.raises(ValidationError) as refused:
        mcp_server_create(project=project_default(), name="near", transport="stdio", **{"command": "x", **fields})
    assert field in refused.value.message_dict


def test_a_command_no_longer_allowed_can_be_disabled(stdio_server, settings):
    settings.MCP_STDIO = False
    with pytest.raises(ValidationError):
        stdio_server.full_clean()
    stdio_server.enabled = False
    stdio_server.full_clean()


def test_a_server_that_does_not_answer_keeps_its_known_tools(http_server):
    mcp_server_look(server=http_server)
    http_server.url = "http://127.0.0.1:9/mcp"
    assert mcp_server_look(server=http_server).problem
    http_server.refresh_from_db()
    assert len(http_server.tools) == 10
