from typing import Annotated

from pydantic import Field

from dashboard.tools.builtin.arithmetic import calculate
from dashboard.tools.registry import registry


@registry.tool(idempotent=True)
def calculator(
    expression: Annotated[
        str, Field(description="Numbers, + - * / // % **, parentheses, pi, e, and sqrt(2) or log(3).")
    ],
) -> str:
    """Calculate an arithmetic expression such as "6 * 7" or "sqrt(2) ** 3" and return its value."""
    return str(calculate(expression))
