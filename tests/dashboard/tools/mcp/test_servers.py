import re

from hypothesis import given
from hypothesis import strategies as st

from dashboard.tools.mcp.servers import chosen_name, wire_name

SERVERS = st.from_regex(r"[A-Za-z0-9-]{1,24}", fullmatch=True)


def test_a_plain_name_is_joined_with_two_underscores():
    assert (chosen_name("near", "greet"), wire_name("near", "greet")) == ("near.greet", "near__greet")


@given(SERVERS, st.text(min_size=1, max_size=200))
def test_every_name_becomes_valid_for_providers_and_identifies_its_server(server: str, tool: str):
    name = wire_name(server, tool)
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name)
    assert name.partition("__")[0] == server


def test_different_names_stay_different():
    tools = ["a b", "a_b", "a.b", "a/b", "é", "e", "x" * 200, "x" * 201, "_", "__", "."]
    assert len({wire_name("near", tool) for tool in tools}) == len(tools)
