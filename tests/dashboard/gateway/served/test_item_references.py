"""`/v1/responses` with items that a client names by their ids alone, as the AI SDK does in a loop of tools."""

import json

import pytest

from dashboard.accounts.models import User
from dashboard.accounts.services import OPERATOR
from dashboard.gateway.models import GatewayCall
from dashboard.gateway.services import key_create
from dashboard.gateway.stored_responses import MOST_ANSWERS
from dashboard.turns.models import Turn
from tests.dashboard.gateway.served.conftest import turn_of
from tests.dashboard.gateway.served.gate import Answer
from tests.dashboard.gateway.served.test_responses import LOOK, QUESTION, response, said, whole
from tests.dashboard.gateway.served.upstream import whole as chat_whole
from tests.dashboard.test_damaged_turns import damage

SCHEMA = {"type": "object", "properties": {"expression": {"type": "string"}}}
CALCULATOR = {"type": "function", "name": "calculator", "description": "", "parameters": SCHEMA}
ASKED = {"role": "user", "content": QUESTION}


@pytest.fixture
def ask(gate):
    """A request to the door."""

    def make(*, headers: dict[str, str] | None = None, **body) -> Answer:
        return gate.send("POST", "/v1/responses", json.dumps({"input": [ASKED], **body}).encode(), headers or {})

    return make


def reference(item: dict) -> dict:
    return {"type": "item_reference", "id": item["id"]}


def result(item: dict, output: str) -> dict:
    return {"type": "function_call_output", "call_id": item["call_id"], "output": output}


@pytest.mark.parametrize("typed", [True, False])
def test_a_loop_of_tools_that_refers_to_its_calls_by_id_is_the_same_as_one_that_repeats_them(ask, agent_at, typed):
    asked = {"model": agent_at("sim-tools").name, "tools": [CALCULATOR], "max_output_tokens": 400}
    output = ask(**asked, input=[ASKED]).json["output"]
    calls = [item for item in output if item["type"] == "function_call"]
    results = [result(item, value) for item, value in zip(calls, ("42", "1024"), strict=True)]
    named = [reference(item) if typed else {"id": item["id"]} for item in output]
    referring = ask(**asked, input=[ASKED, *named, *results])
    repeating = ask(**asked, input=[ASKED, *output, *results])
    text = "Both numbers are in. The tools returned: 42; 1024."
    for answer in (referring, repeating):
        assert answer.json["output"][-1]["content"][0]["text"] == text


def test_an_upstream_of_another_dialect_is_told_the_items_and_no_ids(ask, agent_at, upstream, connected):
    agent_at("m", connection=connected("openai", base_url=upstream.address, name="chat"), name="chat")
    upstream.says(chat_whole("One."), chat_whole("Two."))
    first = ask(model="chat").json["output"][0]
    ask(model="chat", input=[ASKED, reference(first), {"role": "user", "content": "And?"}])
    assert [(each["role"], each["content"]) for each in upstream.asked[1]["messages"]] == [
        ("user", QUESTION),
        ("assistant", "One."),
        ("user", "And?"),
    ]


@pytest.mark.parametrize("model", ["watched", "continued"])
def test_an_item_that_only_the_upstream_knows_is_passed_on_as_it_came(ask, upstream, above, model):
    call = {"type": "function_call", "id": "fc_68ab", "call_id": "call_1", "name": "look", "arguments": "{}"}
    upstream.says(whole(response(call)), whole(response(said("Two."), id="resp_two")))
    ask(model=model, tools=[LOOK])
    given = [ASKED, {"type": "item_reference", "id": "fc_68ab"}, result(call, "seen")]
    assert ask(model=model, tools=[LOOK], input=given).json["output"][0]["content"][0]["text"] == "Two."
    assert upstream.asked[1]["input"] == given


def test_another_keys_item_is_not_found(ask, agent_at, upstream, connected):
    agent = agent_at("m", connection=connected("openai", base_url=upstream.address, name="chat"), name="chat")
    user = User.objects.get(username=OPERATOR)
    one, other = (key_create(project=agent.project, name=name, by=user)[1] for name in ("one", "other"))
    upstream.says(chat_whole("A secret."))
    first = ask(model="chat", headers={"Authorization": f"Bearer {one}"}).json["output"][0]
    refused = ask(model="chat", input=[ASKED, reference(first), ASKED], headers={"Authorization": f"Bearer {other}"})
    assert (refused.status, refused.json["error"]["param"]) == (404, "input")
    assert refused.json["error"]["message"].startswith(f"Item with id '{first['id']}' not found.")


def test_a_request_that_names_items_of_too_many_responses_is_refused_at_once(ask, above):
    named = [{"type": "item_reference", "id": f"msg_{n:032x}"} for n in range(MOST_ANSWERS + 1)]
    refused = ask(model="watched", input=[ASKED, *named])
    assert (refused.status, refused.json["error"]["code"]) == (400, "too_many_item_references")
    assert "Send the items instead." in refused.json["error"]["message"]


def test_a_damaged_answer_is_reported_to_who_refers_to_its_item(ask, agent_at):
    agent = agent_at("sim-essay")
    first = ask(model=agent.name).json
    damage(GatewayCall.objects.get(answer_id=first["id"]).turn_id, "null")
    refused = ask(model=agent.name, input=[ASKED, reference(first["output"][0]), ASKED])
    assert (refused.status, "was changed or damaged" in refused.json["error"]["message"]) == (409, True)


@pytest.fixture(params=["repeats the items", "names the items", "names the answer"])
def going_on(request, ask):
    """How a client goes on from an answer, with what comes after it."""

    def make(first: Answer, *after: dict, **asked) -> Turn:
        output = first.json["output"]
        if request.param == "names the answer":
            return turn_of(ask(**asked, previous_response_id=first.json["id"], input=[*after]))
        items = output if request.param == "repeats the items" else [reference(item) for item in output]
        return turn_of(ask(**asked, input=[ASKED, *items, *after]))

    return make


def test_a_call_that_continues_from_a_response_joins_its_run(ask, going_on, agent_at, upstream, connected):
    agent_at("m", connection=connected("openai", base_url=upstream.address, name="chat"), name="chat")
    upstream.says(chat_whole("One."), chat_whole("Two."))
    first = ask(model="chat", instructions="Be brief.")
    later = going_on(first, {"role": "user", "content": "And?"}, model="chat", instructions="Be kind.")
    assert (later.follows, later.run) == (turn_of(first).id,) * 2


def test_a_question_as_a_text_begins_the_run_of_its_answer(ask, going_on, agent_at, upstream, connected):
    agent_at("m", connection=connected("openai", base_url=upstream.address, name="chat"), name="chat")
    upstream.says(chat_whole("One."), chat_whole("Two."))
    first = ask(model="chat", input=QUESTION)
    assert going_on(first, {"role": "user", "content": "And?"}, model="chat").follows == turn_of(first).id


def test_the_results_of_calls_join_the_run_of_the_response_that_made_them(ask, going_on, agent_at):
    asked = {"model": agent_at("sim-tools").name, "tools": [CALCULATOR], "max_output_tokens": 400}
    first = ask(**asked)
    calls = [item for item in first.json["output"] if item["type"] == "function_call"]
    results = [result(item, value) for item, value in zip(calls, ("42", "1024"), strict=True)]
    later = going_on(first, *results, **asked)
    assert (later.follows, later.output_text) == (
        turn_of(first).id,
        "Both numbers are in. The tools returned: 42; 1024.",
    )


def test_another_image_is_another_conversation(ask, upstream, above):
    upstream.says(whole(response(said("One."))))
    first, other = ([{"role": "user", "content": [{"type": "input_image", "image_url": url}]}] for url in "ab")
    begun = turn_of(ask(model="watched", input=first))
    after = [said("One."), {"role": "user", "content": "And?"}]
    assert turn_of(ask(model="watched", input=[*first, *after])).follows == begun.id
    assert turn_of(ask(model="watched", input=[*other, *after])).follows is None
