"""Types that several response schemas share."""

from typing import Annotated, Any

from pydantic import WithJsonSchema

#: What providers and models said is passed on as it is.
Json = Annotated[Any, WithJsonSchema({})]
Object = Annotated[Any, WithJsonSchema({"type": "object"})]
MaybeObject = Annotated[Any, WithJsonSchema({"type": ["object", "null"]})]
Objects = Annotated[Any, WithJsonSchema({"type": "array", "items": {"type": "object"}})]


def words(enumeration: Any) -> str:
    return ", ".join(enumeration)
