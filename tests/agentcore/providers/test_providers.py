import json
import subprocess
import sys

import pytest

from agentcore import ChatRequest, Message, Role
from agentcore.errors import CoreError, DecodeError
from agentcore.messages import DEMANDED, NO_CAP
from agentcore.providers import PROVIDERS, Provider, UnknownProviderError, get_provider

IMPURE = {
    "asyncio",
    "socket",
    "random",
    "uuid",
    "logging",
    "email.utils",
    "tempfile",
    "statistics",
    "secrets",
    "django",
    "ssl",
}


def test_every_provider_is_found_by_its_own_name():
    for name, provider in PROVIDERS.items():
        assert get_provider(name) is provider
        assert provider.name == name


def test_an_unknown_provider_raises_an_error_that_lists_the_known_ones():
    with pytest.raises(UnknownProviderError, match=r"There is no provider 'opnai'; choose one of: .*openai"):
        get_provider("opnai")
    assert {CoreError, LookupError} <= set(UnknownProviderError.__mro__)


def test_the_registry_cannot_be_changed():
    with pytest.raises(TypeError):
        PROVIDERS["x"] = get_provider("openai")  # type: ignore[index]


def test_every_codec_implements_the_protocol():
    wanted = {name for name in vars(Provider) if not name.startswith("_")} | {"name", "output_floor"}
    for provider in PROVIDERS.values():
        assert all(hasattr(provider, name) for name in wanted)


def test_every_codec_accepts_its_arguments_by_their_public_names():
    for provider in PROVIDERS.values():
        request = ChatRequest(model="m", messages=(), max_tokens=9)
        assert provider.encode_request(request=request) == provider.encode_request(request)
        assert provider.path(request=request) == provider.path(request)
        assert provider.headers(api_key="k") == provider.headers("k")
        assert provider.decode_error(status=429, headers={}, body=b"").status == 429
        assert provider.normalize(raw="no such word") == "unknown"
        assert provider.stream_decoder().feed(data=b"") == []
        with pytest.raises(DecodeError):
            provider.decode_response(payload={})


def test_importing_the_codecs_loads_no_io_and_no_randomness():
    code = "import sys; before = set(sys.modules); import agentcore.providers; print(*(set(sys.modules) - before))"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "agentcore.providers.openai" in modules
    assert not IMPURE & set(modules)


@pytest.mark.parametrize("name", PROVIDERS)
def test_an_unset_cap_is_sent_only_where_the_dialect_requires_one(name: str):
    provider = PROVIDERS[name]

    def sent(**extra: str) -> bool:
        request = ChatRequest("m", (Message(Role.USER, "hi"),), 7_919, extra=extra)
        return "7919" in json.dumps(provider.encode_request(request))

    assert sent()
    assert sent(uncapped=NO_CAP) is provider.demands_cap
    assert provider.demands_cap is (name == "anthropic")
    assert not provider.demands_cap or sent(uncapped=DEMANDED)
