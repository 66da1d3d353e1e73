from dashboard.turns.leading import leading


def test_the_first_words_stand_apart():
    parted = leading("Cut off by max_tokens 4 times.", "retry_limit")
    assert (parted.first, parted.rest) == ("Cut off", " by max_tokens 4 times.")


def test_where_the_words_say_nothing_of_the_reason_its_label_stands_before():
    assert leading("A tool call was truncated.", "tool_repair_failed").first == "Tool call not repaired:"


def test_an_offer_is_a_link_to_the_numbers_it_speaks_of():
    told = leading(
        "Completed after 2 continuations. With max_tokens ≥ 2\u202f014 it would have taken one call: try it.",
        "completed",
    )
    assert told.parts[1:] == (("try it", "max_tokens=2014"), (".", ""))
    told = leading("Completed. With max_tokens ≥ 2\u202f014 it would have taken one call.", "completed")
    assert told.parts[1:] == (("max_tokens ≥ 2\u202f014", "max_tokens=2014"), (" it would have taken one call.", ""))
    told = leading("Cut off. With 4 continuations it would have gone on; how far is not known: re-run to know.", "x")
    assert told.parts[1] == ("re-run", "max_continuations=4")


def test_an_estimate_and_a_number_that_would_not_be_enough_offer_nothing():
    for verdict in (
        "Completed. With max_tokens ≥ about 80 it would have taken one call.",
        "Cut off. With 4 continuations and a larger token total it would have gone on: re-run to know.",
    ):
        assert all(not link for _, link in leading(verdict, "x").parts)
        assert "".join(words for words, _ in leading(verdict, "x").parts) == leading(verdict, "x").rest
