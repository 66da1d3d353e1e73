"""How pages write numbers and their units."""

from dashboard.turns.templatetags.formatting import counted


def test_a_number_stays_in_one_line_with_its_unit():
    assert counted(1_214, "token") == "<b>1,214</b>\u00a0tokens"
    assert counted(1, "turn") == "<b>1</b>\u00a0turn"
