"""The conversations of the table, really held: over HTTP with the gateway, and from there with the simulator."""

from collections.abc import Iterator, Mapping
from typing import Any

from dashboard.agents.selectors import project_default
from dashboard.agents.services import agent_create, connection_create
from dashboard.policies.policy_creation import policy_create
from dashboard.simulator.scripts import PREFIX, SCRIPTS
from tests.golden.conversations import CONVERSATIONS, GEMINI, RESPONSES, Conversation
from tests.golden.transcript import ask, written

_METHODS = {"whole": "generateContent", "stream": "streamGenerateContent?alt=sse"}  #: of the Gemini API
QUESTION = [{"role": "user", "content": "How does a canal lock work?"}]


def prepare(simulator_url: str) -> None:
    """An agent for each conversation, of its name."""
    project = project_default()
    # Of the dialects with an address of their own, each is asked at the root.
    root = simulator_url.removesuffix("/v1")
    bases = {"openai": simulator_url, "openai_responses": simulator_url, "anthropic": root, "gemini": root}
    connections = {
        provider: connection_create(project=project, name=provider, provider=provider, base_url=base)
        for provider, base in bases.items()
    }
    for name, conversation in CONVERSATIONS.items():
        version = policy_create(project=project, name=name, **conversation.policy)
        agent_create(
            project=project,
            name=name,
            connection=connections[conversation.provider],
            model=f"{PREFIX}{name}",
            max_tokens=200,
            policy=version.policy,
            gateway_mode=conversation.mode,
        )


def requests_of(name: str, conversation: Conversation) -> Mapping[str, dict[str, Any]]:
    """What is asked for a whole answer, and for a stream."""
    if conversation.door == GEMINI:
        contents = [{"role": "user", "parts": [{"text": QUESTION[0]["content"]}]}]
        return {form: {"contents": contents, **conversation.request} for form in _METHODS}
    asked = "input" if conversation.door == RESPONSES else "messages"
    whole = {"model": name, asked: QUESTION, **conversation.request}
    return {"whole": whole, "stream": {**whole, "stream": True, **conversation.streamed}}


def address_of(name: str, conversation: Conversation, form: str) -> str:
    """Where it is asked."""
    door = conversation.door
    return f"{door}/{name}:{_METHODS[form]}" if door == GEMINI else door


def held(name: str, address: str, token: str) -> Iterator[tuple[str, str]]:
    """The transcripts of the whole answer and of the stream, by the names of their files."""
    conversation = CONVERSATIONS[name]
    for form, body in requests_of(name, conversation).items():
        SCRIPTS.put(name, conversation.answers)
        door = address_of(name, conversation, form)
        answer = ask(address, body, token, door)
        yield f"{name}.{form}.http", written(body, answer, door)
