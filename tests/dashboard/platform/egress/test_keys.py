"""Which variables may be sent as keys, and where to."""

import pytest

from dashboard.platform.egress import keys
from dashboard.platform.egress.keys import KeyNames
from tests.together import together

OPENAI = "https://api.openai.com/v1/chat/completions"
EVIL = "https://evil.example/v1"


@together
@pytest.mark.parametrize(
    ("listed", "name", "url", "may"),
    [
        ("*_API_KEY", "OPENAI_API_KEY", OPENAI, True),
        ("*_API_KEY", "OPENAI_API_KEY", EVIL, False),
        ("*", "OPENAI_API_KEY", EVIL, False),
        ("OPENAI_*", "OPENAI_API_KEY", EVIL, False),
        ("*_API_KEY", "OPENAI_API_KEY", "https://eu.api.openai.com/v1", True),
        ("*_API_KEY", "OPENAI_API_KEY", "https://api.openai.com@evil.example/", False),
        ("*_API_KEY", "OPENAI_API_KEY", "http://127.0.0.1:8322/v1", True),
        ("*_API_KEY", "OPENAI_API_KEY", "", True),
        ("*_API_KEY", "STRIPE_API_KEY", OPENAI, False),
        ("*_API_KEY", "STRIPE_API_KEY", "https://mcp.stripe.com", True),
        ("*_API_KEY", "CORP_API_KEY", EVIL, True),
        ("*_API_KEY,OPENAI_API_KEY", "OPENAI_API_KEY", EVIL, True),
        ("*_API_KEY,OPENAI_API_KEY@llm.example", "OPENAI_API_KEY", "https://llm.example/v1", True),
        ("*_API_KEY", "AWS_SECRET_ACCESS_KEY", OPENAI, False),
        ("*_API_KEY", "GITHUB_TOKEN", OPENAI, False),
        ("*_API_KEY", "openai_api_key", OPENAI, False),
        ("*_API_KEY", "WHYSTOP_API_KEY", OPENAI, False),
        ("*", "AWS_SECRET_ACCESS_KEY", OPENAI, False),
        ("*", "AWS_SESSION_TOKEN", OPENAI, False),
        ("*", "DATABASE_URL", OPENAI, False),
        ("*", "WHYSTOP_SECRET_KEY", OPENAI, False),
        ("OPENAI_API_KEY,HF_TOKEN", "HF_TOKEN", EVIL, True),
        ("*_API_KEY,OPENAI_API_KEY@api.openai.com", "OPENAI_API_KEY", OPENAI, True),
        ("*_API_KEY,OPENAI_API_KEY@api.openai.com", "OPENAI_API_KEY", EVIL, False),
        ("*_API_KEY,OPENAI_API_KEY@api.openai.com", "OPENAI_API_KEY", "https://api.openai.com.evil.example/", False),
        ("*_API_KEY,OPENAI_API_KEY@api.openai.com", "OPENAI_API_KEY", "https://api.openai.com@evil.example/", False),
        ("*_API_KEY,OPENAI_API_KEY@api.openai.com", "OTHER_API_KEY", EVIL, True),
        ("*_API_KEY@*.openai.com", "OPENAI_API_KEY", OPENAI, True),
        ("A_KEY@one.example,A_KEY@two.example", "A_KEY", "http://two.example/", True),
        ("A_KEY@one.example:8443", "A_KEY", "https://one.example/", False),
        ("A_KEY@one.example:443", "A_KEY", "https://one.example/", True),
        ("A_KEY@[::1]:80", "A_KEY", "http://[::1]/", True),
        ("A_KEY@10.0.0.1", "A_KEY", "http://10.0.0.1:8000/", True),
        ("A_KEY@one.example", "A_KEY", "", False),
        ("A_KEY@stdio", "A_KEY", "", True),
        ("A_KEY@stdio", "A_KEY", "http://one.example/", False),
        ("A_KEY", "A_KEY", "", True),
    ],
)
def test_a_variable_is_sent_only_where_the_list_allows_it(
    listed: str, name: str, url: str, may: bool, settings, monkeypatch: pytest.MonkeyPatch
):
    settings.KEY_NAMES = KeyNames.read(listed)
    monkeypatch.setenv(name, "s3cret")
    assert keys.key_for(name, url) == ("s3cret" if may else None)
    assert (keys.fault(name, url) is None) is may


def test_the_host_the_administrator_chose_for_a_key_receives_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "s3cret")
    monkeypatch.setenv("OPENAI_BASE_URL", "https://llm.example:8443/v1")
    assert keys.key_for("OPENAI_API_KEY", "https://llm.example:8443/v1/chat/completions") == "s3cret"
    assert keys.key_for("OPENAI_API_KEY", OPENAI) == "s3cret"
    assert keys.key_for("OPENAI_API_KEY", EVIL) is None
    assert keys.fault("ANTHROPIC_API_KEY", "https://llm.example:8443/v1") is not None
    monkeypatch.setenv("OPENAI_BASE_URL", "http://[nonsense")
    assert keys.key_for("OPENAI_API_KEY", EVIL) is None


def test_a_vendors_key_refused_for_a_host_is_reported_with_the_entry_that_would_allow_it():
    told = str(keys.fault("ANTHROPIC_API_KEY", "https://llm.example:8443/v1"))
    assert "ANTHROPIC_API_KEY goes to api.anthropic.com and this machine alone" in told
    assert "add ANTHROPIC_API_KEY@llm.example to that list (default: *_API_KEY)" in told
    added = KeyNames.read(f"{keys.DEFAULT},ANTHROPIC_API_KEY@llm.example")
    assert added.may_go("ANTHROPIC_API_KEY", "https://llm.example:8443/v1")


def test_every_host_of_a_vendors_key_is_a_valid_list_entry():
    for name, hosts in keys.VENDOR_HOSTS.items():
        for host in hosts:
            bound = KeyNames.read(f"{name}@{host}")
            assert bound.may_go(name, f"https://{host.replace('*', 'a')}/v1")
            assert keys.is_vendors_host(name, f"https://{host.replace('*', 'a')}/v1")


def test_the_message_about_a_name_does_not_reveal_whether_it_is_set(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "there")
    monkeypatch.delenv("NO_SUCH_VARIABLE", raising=False)
    told = [str(keys.fault(name, EVIL)).replace(name, "X") for name in ("AWS_SECRET_ACCESS_KEY", "NO_SUCH_VARIABLE")]
    assert told[0] == told[1]
    assert "WHYSTOP_KEY_NAMES: *_API_KEY" in told[0]


@together
@pytest.mark.parametrize("wrong", ["A KEY", "A_KEY@", "A_KEY@a b", "A_KEY@host:port", "@host", "A-KEY"])
def test_an_invalid_key_name_is_refused_with_an_explanation(wrong: str):
    with pytest.raises(ValueError, match=r"not a valid entry|port number"):
        KeyNames.read(wrong)


@pytest.mark.parametrize(
    ("url", "may"),
    [
        ("https://bedrock-runtime.eu-west-1.amazonaws.com/model/x/converse", True),
        ("https://bedrock-runtime.cn-north-1.amazonaws.com.cn/", True),
        ("https://bedrock.example/", False),
        ("https://amazonaws.com.evil.example/", False),
    ],
)
def test_the_environments_aws_credentials_sign_for_aws(url: str, may: bool):
    assert KeyNames.read("*_API_KEY").may_sign(url) is may
    assert KeyNames.read("AWS_SECRET_ACCESS_KEY@bedrock.example").may_sign(url) is (url == "https://bedrock.example/")
