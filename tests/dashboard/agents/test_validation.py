import pytest
from django.core.exceptions import ValidationError

from dashboard.agents import validation
from tests.agentcore.test_schema_cost import doubled
from tests.together import together


@together
@pytest.mark.parametrize("name", ["a", "essay", "A.b_c-9", "x" * 64, "..a"])
def test_a_valid_name_can_be_part_of_a_url(name):
    validation.name_valid(name)


@together
@pytest.mark.parametrize("name", ["", "x" * 65, "two words", "a/b", "ä", "a\n", ".", "..", "<script>"])
def test_a_name_that_cannot_be_part_of_a_url_is_refused(name):
    with pytest.raises(ValidationError, match="1 to 64 characters"):
        validation.name_valid(name)


@together
@pytest.mark.parametrize(
    "url",
    ["https://api.openai.com/v1", "http://127.0.0.1:8000", "http://[::1]:8000/v1/", "HTTPS://host", "http://host/a@b"],
)
def test_a_valid_base_url_has_a_scheme_a_host_and_a_path(url):
    validation.base_url_valid(url)


@together
@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("", "http://"),
        ("api.openai.com/v1", "http://"),
        ("ftp://host", "http://"),
        ("file:///etc/passwd", "http://"),
        ("http://", "http://"),
        ("http://:80/v1", "http://"),
        ("http://host:99999", "http://"),
        ("http://host:0", "http://"),
        ("http://host:port", "http://"),
        ("http://ho st", "http://"),
        ("http://host\r\nx: y", "http://"),
        ("http://host\\@other", "http://"),
        ("http://[::1", "http://"),
        ("https://me:secret@host/v1", "user name or password"),
        ("https://secret@host/v1", "user name or password"),
        ("https://host/v1?key=secret", "before any"),
        ("https://host/v1?", "before any"),
        ("https://host/v1#there", "before any"),
    ],
)
def test_a_base_url_with_anything_else_is_refused_with_an_explanation(url, words):
    with pytest.raises(ValidationError, match=words) as refused:
        validation.base_url_valid(url)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("name", ["", "OPENAI_API_KEY", "_x", "key9"])
def test_a_variable_name_is_accepted(name):
    validation.api_key_env_valid(name)


@together
@pytest.mark.parametrize(
    "key",
    ["sk-proj-abc", "sk_live_1", "gsk_abc", "AIzaSyA", "Bearer x", "hf_abc", "0123456789abcdef0123456789abcdef"],
)
def test_a_key_given_instead_of_a_variable_name_is_recognized_and_not_echoed(key):
    with pytest.raises(ValidationError, match="looks like the key itself") as refused:
        validation.api_key_env_valid(key)
    assert key not in str(refused.value)


@together
@pytest.mark.parametrize("name", ["MY KEY", "9KEY", "A-B", "$KEY", "K\n"])
def test_an_invalid_variable_name_is_refused(name):
    with pytest.raises(ValidationError, match="letters, digits and underscores"):
        validation.api_key_env_valid(name)


@together
@pytest.mark.parametrize(
    "name", ["DATABASE_URL", "REDIS_URL", "WHYSTOP_SECRET_KEY", "whystop_bootstrap_token", "WHYSTOP_ANYTHING"]
)
def test_our_own_secrets_cannot_be_used_as_a_providers_key(name):
    with pytest.raises(ValidationError, match="a secret of Whystop"):
        validation.api_key_env_valid(name)


@pytest.mark.parametrize(
    ("value", "ceiling", "words"),
    [
        (0, None, "must be a whole number from 1 to 10,000,000"),
        (-5, 100, "must be a whole number from 1 to 10,000,000"),
        (1_000_000, 4096, r"1,000,000.*“near”.*4,096.*from 1 to 4,096"),
        (10_000_001, None, "from 1 to 10,000,000"),
    ],
)
def test_max_tokens_is_checked_against_the_connections_ceiling(value, ceiling, words):
    with pytest.raises(ValidationError, match=words):
        validation.max_tokens_within(value, ceiling=ceiling, connection="near")


def test_a_million_tokens_are_accepted_where_no_ceiling_is_known():
    validation.max_tokens_within(1_000_000, ceiling=None, connection="near")


@together
@pytest.mark.parametrize(
    ("tools", "words"),
    [
        (["calculator", "rm"], "no tool “rm”; the tools are calculator, clock"),
        (["calculator", "calculator"], "listed twice"),
        ("calculator", "list of names"),
        ([1], "list of names"),
        (None, "list of names"),
    ],
)
def test_tools_must_be_known_and_unique(tools, words):
    with pytest.raises(ValidationError, match=words):
        validation.tools_valid(tools, {"clock", "calculator"})


@pytest.mark.parametrize(
    "schema",
    [
        None,
        {},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"type": "string"}}},
        {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"},
    ],
)
def test_a_self_contained_schema_is_accepted(schema):
    validation.json_schema_valid(schema)


@together
@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ([], "must be an object"),
        (True, "must be an object"),
        ("{}", "must be an object"),
        ({"type": "strin"}, r"not a JSON Schema \(at /type\)"),
        ({"properties": {"a": {"minimum": "x"}}}, r"at /properties/a/minimum"),
        ({"pattern": "("}, "not a JSON Schema"),
        ({"$ref": "#/nope"}, "not a JSON Schema"),
        ({"$ref": "https://example.com/a"}, "refers to “https://example.com/a”. Nothing is fetched"),
        ({"properties": {"a": {"$ref": "file:///etc/passwd"}}}, "Nothing is fetched"),
        ({"$schema": "https://example.com/meta"}, "Nothing is fetched"),
        ({"$ref": "#"}, "refers to itself for the same value, so judging by it never ends"),
        (doubled(27, {"type": "string"}), "takes more than 2,000,000 steps"),
    ],
)
def test_an_invalid_schema_or_one_that_needs_the_network_is_refused_with_an_explanation(schema, words):
    with pytest.raises(ValidationError, match=words):
        validation.json_schema_valid(schema)
