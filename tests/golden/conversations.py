"""What is asked of the gateway for a golden transcript, and what the provider behind it answers, call by call."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dashboard.simulator import errors
from dashboard.simulator.script_player import Call, Ending
from dashboard.simulator.scripts import Answer

Json = dict[str, Any]

CALCULATOR: Json = {
    "name": "calculator",
    "description": "Works out an expression.",
    "parameters": {"type": "object", "properties": {"expression": {"type": "string"}}, "required": ["expression"]},
}
TOOLS = {"tools": [{"type": "function", "function": CALCULATOR}]}
PLACE: Json = {
    "type": "object",
    "properties": {"place": {"type": "string"}, "locks": {"type": "integer"}},
    "required": ["place", "locks"],
    "additionalProperties": False,
}
SCHEMA = {"response_format": {"type": "json_schema", "json_schema": {"name": "place", "schema": PLACE}}}
USAGE = {"stream_options": {"include_usage": True}}

SUM = Call("calculator", '{"expression": "6 * 7"}')
POWER = Call("calculator", '{"expression": "2 ** 10"}')
SHORT = "A lock lifts boats with water alone."
FIRST = "The lower gate closes behind the boat, and then the water"
SECOND = "behind the boat, and then the water rises until both sides are level."
WHOLE = "The lower gate closes behind the boat, and then the water rises until both sides are level."


@dataclass(frozen=True, slots=True)
class Conversation:
    """One request, and whom it is put to. `streamed`: what a request says beside when it asks for a stream; `door`: the
    address at which it is put."""

    about: str
    answers: Sequence[Answer]
    request: Json = field(default_factory=dict)
    streamed: Json = field(default_factory=dict)
    provider: str = "openai"
    mode: str = "continue"
    policy: Json = field(default_factory=dict)
    door: str = "/v1/chat/completions"


def _cut(text: str) -> Answer:
    return Answer(text, ending=Ending.LENGTH)


MESSAGES = "/v1/messages"
CLAUDE_TOOLS = {
    "tools": [
        {
            "name": CALCULATOR["name"],
            "description": CALCULATOR["description"],
            "input_schema": CALCULATOR["parameters"],
        }
    ]
}
CLAUDE_SCHEMA = {"output_config": {"format": {"type": "json_schema", "schema": PLACE}}}


def _to_claude(about: str, answers: Sequence[Answer], request: Json | None = None, **more: Any) -> Conversation:
    """At Anthropic's door, to an upstream of that dialect unless another is named."""
    given = {"max_tokens": 200, **(request or {})}
    return Conversation(about, answers, given, **{"provider": "anthropic", "door": MESSAGES, **more})


RESPONSES = "/v1/responses"
ITEM_TOOLS = {"tools": [{"type": "function", **CALCULATOR}]}
ITEM_SCHEMA = {"text": {"format": {"type": "json_schema", "name": "place", "schema": PLACE, "strict": True}}}
_HONEST: Json = {"limits": {"max_continuations": 1}}
_FROM = {"openai_responses": "", "openai": "_of_chat", "anthropic": "_of_claude", "gemini": "_of_gemini"}


def _as_items(about: str, answers: Sequence[Answer], request: Json | None = None, **more: Any) -> Conversation:
    """At the door of responses, to an upstream of that dialect unless another is named."""
    return Conversation(about, answers, request or {}, **{"provider": "openai_responses", "door": RESPONSES, **more})


def _items_from(provider: str) -> Mapping[str, Conversation]:
    """What every kind of ending looks like, whatever the upstream speaks."""
    kinds = {
        "completed": _as_items("An answer that ends by itself.", [Answer(SHORT)], provider=provider),
        "continued": _as_items(
            "Cut, and continued to its end; what was said twice is dropped.",
            [_cut(FIRST), Answer(SECOND)],
            provider=provider,
        ),
        "incomplete": _as_items(
            "Cut more often than the policy continues: incomplete, and it says so.",
            [_cut(FIRST), _cut(SECOND)],
            provider=provider,
            policy=_HONEST,
        ),
        "calls": _as_items(
            "Two calls at once, after some words; the client runs them.",
            [Answer("I shall work both out.", (SUM, POWER))],
            ITEM_TOOLS,
            provider=provider,
        ),
        "repaired": _as_items(
            "A call that was cut is asked for again.",
            [Answer("Let me see.", (SUM,), cut_after=8), Answer(calls=(SUM,))],
            ITEM_TOOLS,
            provider=provider,
        ),
        "filtered": _as_items(
            "Blocked half way: what was said is withheld.", [Answer(SHORT, ending=Ending.FILTERED)], provider=provider
        ),
        "turned_away": _as_items(
            "The provider turns the caller away, and no policy retries.",
            [Answer(error=errors.rate_limited("the-model", 7))],
            provider=provider,
        ),
        "interrupted": _as_items(
            "The connection breaks half way: what came is kept.", [Answer(WHOLE, hangs_up=True)], provider=provider
        ),
    }
    return {f"responses_{kind}{_FROM[provider]}": held for kind, held in kinds.items()}


GEMINI = "/v1beta/models"
GEMINI_TOOLS = {"tools": [{"functionDeclarations": [CALCULATOR]}]}
_JSON_OF_A_PLACE = {"generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": PLACE}}


def _to_gemini(about: str, answers: Sequence[Answer], request: Json | None = None, **more: Any) -> Conversation:
    """At the door of the Gemini API, to an upstream of that dialect unless another is named."""
    return Conversation(about, answers, request or {}, **{"provider": "gemini", "door": GEMINI, **more})


_GEMINI: Mapping[str, Conversation] = {
    "stop": _to_gemini("An answer that ends by itself.", [Answer(SHORT)]),
    "stop_observed": _to_gemini(
        "The same, watched: what the provider says goes through.", [Answer(SHORT)], mode="observe"
    ),
    "max_tokens": _to_gemini(
        "Cut by maxOutputTokens, and watched: it stays cut.",
        [Answer(WHOLE)],
        {"generationConfig": {"maxOutputTokens": 6}},
        mode="observe",
    ),
    "max_tokens_honest": _to_gemini(
        "Cut more often than the policy continues: partial, and it says so.",
        [_cut(FIRST), _cut(SECOND)],
        policy=_HONEST,
    ),
    "continued": _to_gemini(
        "Cut, and continued to its end; what was said twice is dropped.", [_cut(FIRST), Answer(SECOND)]
    ),
    "continued_of_claude": _to_gemini(
        "The same, of an upstream that speaks Anthropic's dialect.",
        [_cut(FIRST), Answer(SECOND)],
        provider="anthropic",
    ),
    "calls": _to_gemini(
        "Two calls at once, after some words; the client runs them.",
        [Answer("I shall work both out.", (SUM, POWER))],
        GEMINI_TOOLS,
    ),
    "calls_of_chat": _to_gemini(
        "Two calls at once, of an upstream that speaks OpenAI's dialect.",
        [Answer("I shall work both out.", (SUM, POWER))],
        GEMINI_TOOLS,
        provider="openai",
    ),
    "repaired_of_chat": _to_gemini(
        "A call that was cut is asked for again.",
        [Answer("Let me see.", (SUM,), cut_after=8), Answer(calls=(SUM,))],
        GEMINI_TOOLS,
        provider="openai",
    ),
    "safety": _to_gemini("Blocked half way: what was said is withheld.", [Answer(SHORT, ending=Ending.FILTERED)]),
    "prompt_blocked": _to_gemini("The prompt is blocked.", [Answer(ending=Ending.BLOCKED)]),
    "refusal_of_chat": _to_gemini(
        "An upstream of OpenAI's dialect refuses, under stop.",
        [Answer(refusal="I will not open this lock.")],
        provider="openai",
    ),
    "structured": _to_gemini(
        "JSON against the schema once, then as it should be.",
        [Answer('{"place": "Falkirk"}'), Answer('{"place": "Falkirk", "locks": 2}')],
        _JSON_OF_A_PLACE,
    ),
    "interrupted_of_chat": _to_gemini(
        "The connection breaks half way: what came is kept.", [Answer(WHOLE, hangs_up=True)], provider="openai"
    ),
    "nothing_said_of_claude": _to_gemini(
        "The window is full before a word is said: an error.", [Answer(ending=Ending.CONTEXT)], provider="anthropic"
    ),
    "turned_away": _to_gemini(
        "The provider turns the caller away, and no policy retries.",
        [Answer(error=errors.rate_limited("the-model", 7))],
    ),
    "refused": _to_gemini(
        "What another dialect cannot be told is refused in words.",
        [Answer(SHORT)],
        {"generationConfig": {"topK": 5}},
        provider="openai",
    ),
}

CONVERSATIONS: Mapping[str, Conversation] = {
    "stop": Conversation("An answer that ends by itself.", [Answer(SHORT)]),
    "stop_observed": Conversation(
        "The same, watched: what the provider says goes through.", [Answer(SHORT)], streamed=USAGE, mode="observe"
    ),
    "length": Conversation(
        "Cut by max_tokens, and watched: it stays cut.", [Answer(WHOLE)], {"max_tokens": 6}, mode="observe"
    ),
    "length_honest": Conversation(
        "Cut more often than the policy continues: partial, and it says so.",
        [_cut(FIRST), _cut(SECOND)],
        streamed=USAGE,
        policy={"limits": {"max_continuations": 1}},
    ),
    "tool_calls": Conversation(
        "Two calls at once, after some words; the client runs them.",
        [Answer("I shall work both out.", (SUM, POWER))],
        TOOLS,
        USAGE,
    ),
    "tool_calls_observed": Conversation("A call, watched.", [Answer(calls=(SUM,))], TOOLS, mode="observe"),
    "tool_calls_translated": Conversation(
        "Two calls at once, of an upstream that speaks Anthropic's dialect.",
        [Answer("I shall work both out.", (SUM, POWER))],
        TOOLS,
        USAGE,
        provider="anthropic",
    ),
    "tool_choice_forced": Conversation(
        "A call that was forced: this API then says stop.",
        [Answer(calls=(SUM,), raw="stop")],
        {**TOOLS, "tool_choice": {"type": "function", "function": {"name": "calculator"}}},
    ),
    "tool_choice_forced_observed": Conversation(
        "The same, watched.",
        [Answer(calls=(SUM,), raw="stop")],
        {**TOOLS, "tool_choice": {"type": "function", "function": {"name": "calculator"}}},
        mode="observe",
    ),
    "function_call": Conversation(
        "Tools offered as functions: a call goes back as a function_call.",
        [Answer(calls=(SUM,))],
        {"functions": [CALCULATOR]},
    ),
    "function_call_observed": Conversation(
        "The same, watched.", [Answer(calls=(SUM,))], {"functions": [CALCULATOR]}, mode="observe"
    ),
    "content_filter": Conversation(
        "Blocked half way: what was said is withheld.", [Answer(SHORT, ending=Ending.FILTERED)]
    ),
    "content_filter_observed": Conversation(
        "The same, watched.", [Answer(SHORT, ending=Ending.FILTERED)], mode="observe"
    ),
    "refusal": Conversation("The model refuses, under stop.", [Answer(refusal="I will not open this lock.")]),
    "continued": Conversation(
        "Cut, and continued to its end; what was said twice is dropped.", [_cut(FIRST), Answer(SECOND)], {}, USAGE
    ),
    "repaired": Conversation(
        "A call that was cut is asked for again.",
        [Answer("Let me see.", (SUM,), cut_after=8), Answer(calls=(SUM,))],
        TOOLS,
    ),
    "retried": Conversation(
        "Turned away once, and asked again.",
        [Answer(error=errors.rate_limited("the-model", 0)), Answer(SHORT)],
        policy={"error_policy": {"preset": "retry_all"}},
    ),
    "interrupted": Conversation("The connection breaks half way: what came is kept.", [Answer(WHOLE, hangs_up=True)]),
    "interrupted_continued": Conversation(
        "It breaks half way, and the policy asks for the rest.",
        [Answer(WHOLE, hangs_up=True), Answer(WHOLE)],
        policy={"error_policy": {"preset": "retry_all"}},
    ),
    "paused": Conversation(
        "The provider pauses; it is handed its own words back.",
        [Answer("I shall look it up first.", ending=Ending.PAUSED), Answer(" It opened on a Friday.")],
        provider="anthropic",
        mode="observe",
    ),
    "structured": Conversation(
        "JSON against the schema once, then as it should be.",
        [Answer('{"place": "Falkirk"}'), Answer('{"place": "Falkirk", "locks": 2}')],
        SCHEMA,
        USAGE,
    ),
    "structured_cut": Conversation(
        "Half an object, then the whole one.",
        [_cut('{"place": "Fal'), Answer('{"place": "Falkirk", "locks": 2}')],
        SCHEMA,
    ),
    "nothing_said": Conversation(
        "The window is full before a word is said: an error.", [Answer(ending=Ending.CONTEXT)]
    ),
    "turned_away": Conversation(
        "The provider turns the caller away, and no policy retries.",
        [Answer(error=errors.rate_limited("the-model", 7))],
    ),
    "broken_upstream": Conversation("The provider fails.", [Answer(error=errors.broken_server())], mode="observe"),
    "breaks_before_a_word": Conversation("The connection breaks at once.", [Answer(hangs_up=True)]),
    "messages_end_turn": _to_claude("An answer that ends by itself.", [Answer(SHORT)]),
    "messages_end_turn_observed": _to_claude(
        "The same, watched: what the provider says goes through.", [Answer(SHORT)], mode="observe"
    ),
    "messages_max_tokens": _to_claude(
        "Cut by max_tokens, and watched: it stays cut.", [Answer(WHOLE)], {"max_tokens": 6}, mode="observe"
    ),
    "messages_max_tokens_honest": _to_claude(
        "Cut more often than the policy continues: partial, and it says so.",
        [_cut(FIRST), _cut(SECOND)],
        policy={"limits": {"max_continuations": 1}},
    ),
    "messages_continued": _to_claude(
        "Cut, and continued to its end; what was said twice is dropped.", [_cut(FIRST), Answer(SECOND)]
    ),
    "messages_continued_translated": _to_claude(
        "The same, of an upstream that speaks OpenAI's dialect.", [_cut(FIRST), Answer(SECOND)], provider="openai"
    ),
    "messages_tool_use": _to_claude(
        "Two calls at once, after some words; the client runs them.",
        [Answer("I shall work both out.", (SUM, POWER))],
        CLAUDE_TOOLS,
    ),
    "messages_tool_use_observed": _to_claude("A call, watched.", [Answer(calls=(SUM,))], CLAUDE_TOOLS, mode="observe"),
    "messages_tool_use_translated": _to_claude(
        "Two calls at once, of an upstream that speaks OpenAI's dialect.",
        [Answer("I shall work both out.", (SUM, POWER))],
        CLAUDE_TOOLS,
        provider="openai",
    ),
    "messages_repaired": _to_claude(
        "A call that was cut is asked for again.",
        [Answer("Let me see.", (SUM,), cut_after=8), Answer(calls=(SUM,))],
        CLAUDE_TOOLS,
    ),
    "messages_refusal": _to_claude(
        "Blocked half way: what was said is withheld.", [Answer(SHORT, ending=Ending.FILTERED)]
    ),
    "messages_refusal_translated": _to_claude(
        "An upstream of OpenAI's dialect refuses, under stop.",
        [Answer(refusal="I will not open this lock.")],
        provider="openai",
    ),
    "messages_window": _to_claude(
        "The window is full half way, and watched.", [Answer(SHORT, ending=Ending.CONTEXT)], mode="observe"
    ),
    "messages_paused": _to_claude(
        "The provider pauses; it is handed its own words back.",
        [Answer("I shall look it up first.", ending=Ending.PAUSED), Answer(" It opened on a Friday.")],
    ),
    "messages_paused_observed": _to_claude(
        "The provider pauses, watched: the client resumes.",
        [Answer("I shall look it up first.", ending=Ending.PAUSED)],
        mode="observe",
    ),
    "messages_structured": _to_claude(
        "JSON against the schema once, then as it should be.",
        [Answer('{"place": "Falkirk"}'), Answer('{"place": "Falkirk", "locks": 2}')],
        CLAUDE_SCHEMA,
    ),
    "messages_interrupted": _to_claude(
        "The connection breaks half way: what came is kept.", [Answer(WHOLE, hangs_up=True)]
    ),
    "messages_nothing_said": _to_claude(
        "The window is full before a word is said: an error.", [Answer(ending=Ending.CONTEXT)]
    ),
    "messages_turned_away": _to_claude(
        "The provider turns the caller away, and no policy retries.",
        [Answer(error=errors.rate_limited("the-model", 7))],
    ),
    "messages_refused": _to_claude(
        "What another dialect cannot be told is refused in words.", [Answer(SHORT)], {"top_k": 5}, provider="openai"
    ),
    **{f"gemini_{name}": held for name, held in _GEMINI.items()},
    **{name: held for provider in _FROM for name, held in _items_from(provider).items()},
    "responses_completed_observed": _as_items(
        "Watched: what the provider says goes through.", [Answer(SHORT)], mode="observe"
    ),
    "responses_incomplete_observed": _as_items(
        "Cut by max_output_tokens, and watched: it stays cut.",
        [Answer(WHOLE)],
        {"max_output_tokens": 16},
        mode="observe",
    ),
    "responses_calls_observed": _as_items("A call, watched.", [Answer(calls=(SUM,))], ITEM_TOOLS, mode="observe"),
    "responses_refusal_observed": _as_items(
        "The model refuses, watched.", [Answer(refusal="I will not open this lock.")], mode="observe"
    ),
    "responses_refusal": _as_items("The model refuses.", [Answer(refusal="I will not open this lock.")]),
    "responses_refusal_of_chat": _as_items(
        "The model refuses, under stop.", [Answer(refusal="I will not open this lock.")], provider="openai"
    ),
    "responses_structured": _as_items(
        "JSON against the schema once, then as it should be.",
        [Answer('{"place": "Falkirk"}'), Answer('{"place": "Falkirk", "locks": 2}')],
        ITEM_SCHEMA,
    ),
    "responses_structured_of_chat": _as_items(
        "Half an object, then the whole one.",
        [_cut('{"place": "Fal'), Answer('{"place": "Falkirk", "locks": 2}')],
        ITEM_SCHEMA,
        provider="openai",
    ),
    "responses_nothing_said_of_claude": _as_items(
        "The window is full before a word is said: an error.", [Answer(ending=Ending.CONTEXT)], provider="anthropic"
    ),
    "responses_refused": _as_items(
        "What another dialect cannot be told is refused in words.",
        [Answer(SHORT)],
        {"tools": [{"type": "web_search"}]},
        provider="openai",
    ),
}
