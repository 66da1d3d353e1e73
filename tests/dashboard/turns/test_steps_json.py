import json
from dataclasses import fields

from agentcore.replay import fold
from dashboard.turns.moments import moments_of
from dashboard.turns.step_view import FIELDS, ROWS, StepView, step_view, steps_json
from dashboard.turns.templatetags.formatting import as_data
from tests.dashboard.turns.histories import answered, cut_twice, recorded, started

STEPS = [step_view(moment) for moment in moments_of(fold(cut_twice()))]


def test_every_value_of_every_step_can_be_read_back():
    data = json.loads(steps_json(STEPS))
    for step, packed in zip(STEPS, data["steps"], strict=True):
        for name, value in zip(FIELDS, packed, strict=True):
            if name not in ROWS:
                assert value == getattr(step, name)
                continue
            rows = [dict(zip(ROWS[name], data["rows"][name][place], strict=True)) for place in value]
            assert rows == [{key: getattr(row, key) for key in ROWS[name]} for row in getattr(step, name)]


def test_the_keys_of_settings_in_the_texts_come_with_them():
    assert json.loads(steps_json(STEPS))["keys"] == ["max_continuations", "max_tokens", "max_total_output_chars"]
    assert json.loads(steps_json([]))["keys"] == []


def test_no_part_of_a_step_is_omitted():
    assert {field.name for field in fields(StepView)} == set(FIELDS)


def test_repeated_values_are_stored_once():
    rows = json.loads(steps_json(STEPS))["rows"]
    for table in rows.values():
        assert len({tuple(row) for row in table}) == len(table)
    said = sum(len(step.said) for step in STEPS)
    assert 2 * len(rows["said"]) < said


def test_as_text_of_a_page_it_has_no_markup_and_the_same_meaning():
    steps = [step_view(m) for m in moments_of(fold(recorded(started(), answered(1.0, "x"))))]
    evil = [*steps[:1], *steps[1:]]
    text = steps_json(evil).replace("started", "</template><script>&amp;")
    safe = as_data(text)
    assert not set(safe) & set("<>&")
    assert json.loads(safe) == json.loads(text)
