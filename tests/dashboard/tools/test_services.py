import pytest
from django.core.exceptions import ValidationError
from django.db import connection

from dashboard.agents.selectors import project_default
from dashboard.live.services import turn_start
from dashboard.tools.models import TurnDocument
from dashboard.tools.services import MAX_DOCUMENT_CHARS, MAX_DOCUMENTS, mcp_server_create, mcp_server_look
from dashboard.turns.models import Turn

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("documents", "words"),
    [
        ([{"name": "a", "text": "x"}] * 2, "the same name"),
        ([{"name": " ", "text": "x"}], "needs a name"),
        ([{"name": "n" * 201, "text": "x"}], "needs a name"),
        ([{"name": str(n), "text": ""} for n in range(MAX_DOCUMENTS + 1)], "There are 51 documents"),
        ([{"name": "a", "text": "x" * (MAX_DOCUMENT_CHARS + 1)}], "1,000,001 characters together"),
    ],
)
def test_documents_a_turn_cannot_take_are_refused_in_words(agent_of, documents, words):
    with pytest.raises(ValidationError, match=words) as refused:
        turn_start(agent=agent_of("sim-essay"), input_text="Hello", documents=documents)
    assert "documents" in refused.value.message_dict
    assert not Turn.objects.exists()


@pytest.mark.parametrize("by_sql", [True, False])
def test_documents_go_with_their_turn_whoever_deletes_it(agent_of, by_sql):
    turn = turn_start(agent=agent_of("sim-essay"), input_text="Hello", documents=[{"name": "a", "text": "A"}])
    assert TurnDocument.objects.count() == 1
    if by_sql:
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM turns_turn WHERE id = %s", [turn.id])
    else:
        turn.delete()
    assert not TurnDocument.objects.exists()


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({"name": "a_b"}, "name", "letters a–z, digits and dashes"),
        ({"url": "ftp://x"}, "url", "must begin with http"),
        ({"url": ""}, "url", "must begin with http"),
        ({"command": "rm"}, "command", "needs no command"),
        ({"key_env": "sk-secret"}, "key_env", "looks like a key itself"),
        ({"key_env": "DATABASE_URL"}, "key_env", "a secret of Whystop's own"),
        ({"key_env": "AWS_SECRET_ACCESS_KEY"}, "key_env", "not among the variables that may be sent"),
        ({"key_header": "Content-Type"}, "key_header", "no header a key can be sent in"),
        ({"key_header": "X\r\nY"}, "key_header", "no header a key can be sent in"),
        ({"timeout": 0}, "timeout", "greater than or equal to 0.1"),
        ({"args": ["a", 1]}, "args", "a JSON list"),
        ({"transport": "stdio", "url": "", "command": "x"}, "transport", "WHYSTOP_MCP_STDIO=1"),
        ({"transport": "carrier pigeon"}, "transport", "not one of the choices"),
    ],
)
def test_a_server_that_makes_no_sense_is_refused_beside_the_field(fields, field, words):
    good = {"name": "near", "url": "http://127.0.0.1:9/mcp"}
    with pytest.raises(ValidationError) as refused:
        mcp_server_create(project=project_default(), **{**good, **fields})
    assert words in " ".join(refused.value.message_dict[field])


@pytest.mark.parametrize(("fields", "field"), [({"command": ""}, "command"), ({"url": "http://x/"}, "url")])
def test_a_command_that_makes_no_sense_is_refused_beside_the_field(stdio_allowed, fields, field):
    with pytest.raises(ValidationError) as refused:
        mcp_server_create(project=project_default(), name="near", transport="stdio", **{"command": "x", **fields})
    assert field in refused.value.message_dict


def test_a_command_that_is_not_allowed_any_more_can_be_switched_off(stdio_server, settings):
    settings.MCP_STDIO = False
    with pytest.raises(ValidationError):
        stdio_server.full_clean()
    stdio_server.enabled = False
    stdio_server.full_clean()


def test_a_server_that_does_not_answer_keeps_the_tools_it_had(http_server):
    mcp_server_look(server=http_server)
    http_server.url = "http://127.0.0.1:9/mcp"
    assert mcp_server_look(server=http_server).problem
    http_server.refresh_from_db()
    assert len(http_server.tools) == 10
