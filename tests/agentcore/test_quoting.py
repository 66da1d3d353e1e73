from agentcore.quoting import MOST_QUOTED, quoted, shortened


def test_a_text_is_quoted_and_any_other_value_is_written_as_json():
    assert quoted("many") == "“many”"
    assert [quoted(value) for value in (None, True, 1.5, [1, "a"], {})] == ["null", "true", "1.5", '[1, "a"]', "{}"]


def test_a_long_value_is_cut_at_eighty_characters():
    assert shortened("x" * 80) == "x" * 80
    assert shortened("x" * 81) == "x" * 79 + "…"
    for value in ("x" * 100_000, ["x" * 100_000], {"x" * 100_000: 1}, 10**5_000):
        assert len(quoted(value)) <= MOST_QUOTED + 2
