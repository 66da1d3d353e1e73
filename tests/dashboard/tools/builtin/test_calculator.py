from dashboard.tools.selectors import registry
from tests.dashboard.tools.calling import call


def test_both_a_result_and_a_failure_are_returned_to_the_model():
    calculator = registry.get("calculator")
    assert call(calculator, expression="6 * 7").content == "42"
    assert call(calculator, expression="six times seven").content == (
        "calculator failed: “six times seven” is not an arithmetic expression."
    )
    assert "expression: Missing required argument" in call(calculator).content
