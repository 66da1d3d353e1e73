"""The calculator tool's arithmetic: numbers and operators only, bounded so that no expression can eat the machine."""

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Annotated

from pydantic import Field

from dashboard.tools.registry import registry
from dashboard.tools.tool import ToolProblem

MAX_CHARS = 1_000
MAX_BITS = 14_000  #: of any whole number on the way; Python writes out no more than 4,300 digits
Number = int | float

_BINARY: Mapping[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_UNARY: Mapping[type[ast.unaryop], Callable[[Number], Number]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}
_NAMES: Mapping[str, float] = {"pi": math.pi, "e": math.e}
_FUNCTIONS: Mapping[str, Callable[[Number], Number]] = {
    "sqrt": math.sqrt,
    "abs": abs,
    "round": round,
    "floor": math.floor,
    "ceil": math.ceil,
    "log": math.log,
    "exp": math.exp,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
}


class ArithmeticProblem(ToolProblem):
    """The expression cannot be calculated; the message says why."""


def calculate(expression: str) -> Number:
    """The value of an arithmetic expression with + - * / // % **, parentheses, pi, e and a few functions."""
    if len(expression) > MAX_CHARS:
        raise ArithmeticProblem(f"The expression is longer than {MAX_CHARS} characters.")
    try:
        return _value(_parsed(expression).body)
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ArithmeticProblem(f"“{expression[:80]}” is not an arithmetic expression.") from error
    except ZeroDivisionError as error:
        raise ArithmeticProblem("Division by zero.") from error
    except OverflowError as error:
        raise ArithmeticProblem("The result is too large.") from error


def _parsed(expression: str) -> ast.Expression:
    if "\0" in expression:  # Python before 3.11.4 raises a ValueError of its own
        raise SyntaxError
    return ast.parse(expression.strip(), mode="eval")


def _value(node: ast.expr) -> Number:
    match node:
        case ast.Constant(value=bool()):
            raise ArithmeticProblem("Only numbers are allowed.")
        case ast.Constant(value=int() | float() as number):
            return _bounded(number)
        case ast.Name(id=name) if name in _NAMES:
            return _NAMES[name]
        case ast.UnaryOp(op=sign, operand=operand) if type(sign) in _UNARY:
            return _UNARY[type(sign)](_value(operand))
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _power(_value(left), _value(right))
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _BINARY:
            return _bounded(_BINARY[type(sign)](_value(left), _value(right)))
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in _FUNCTIONS:
            return _applied(name, _value(argument))
        case _:
            raise ArithmeticProblem(f"“{ast.unparse(node)[:80]}” is not arithmetic.")


def _applied(name: str, argument: Number) -> Number:
    try:
        return _FUNCTIONS[name](argument)
    except ValueError as error:
        raise ArithmeticProblem(f"{name}({argument}) has no value.") from error


def _power(base: Number, exponent: Number) -> Number:
    if isinstance(base, int) and isinstance(exponent, int) and base.bit_length() * abs(exponent) > MAX_BITS:
        raise ArithmeticProblem("The result is too large.")
    result = base**exponent
    if isinstance(result, complex):
        raise ArithmeticProblem("The result is not a real number.")
    return _bounded(result)


def _bounded(number: Number) -> Number:
    if number.bit_length() > MAX_BITS if isinstance(number, int) else not math.isfinite(number):
        raise ArithmeticProblem("The result is too large.")
    return number


@registry.tool(idempotent=True)
def calculator(
    expression: Annotated[
        str, Field(description="Numbers, + - * / // % **, parentheses, pi, e, and sqrt(2) or log(3).")
    ],
) -> str:
    """Calculate an arithmetic expression such as "6 * 7" or "sqrt(2) ** 3" and return its value."""
    return str(calculate(expression))
