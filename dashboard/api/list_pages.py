"""Pages of lists. A list that has always been an array stays one: a page of it is asked for with `limit` or `cursor`,
and the cursors of its neighbours are in the header `Link` (RFC 8288). Without either it is whole.
"""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Self, TypeVar

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from ninja import Query
from pydantic import BaseModel, Field

from dashboard.platform.fields import UNSTORABLE
from dashboard.turns.selectors import DEFAULT_LIMIT, MAX_LIMIT, BadCursorError

Row = TypeVar("Row", bound=Model)
Item = TypeVar("Item")


class _Asked(BaseModel):
    cursor: str | None = Field(
        default=None, description="The value of `next` or `previous` in a response.", max_length=500
    )


class Page(_Asked):
    """Which page."""

    limit: int = Field(default=DEFAULT_LIMIT, ge=1, le=MAX_LIMIT, description="Items on a page.")


class PageOfArray(_Asked):
    """The page of an array. Without either field, the response is the whole array."""

    limit: int | None = Field(
        default=None,
        ge=1,
        le=MAX_LIMIT,
        description="Items on a page. The `Link` header has the addresses of the next and the previous page.",
    )


Paged = Annotated[Page, Query()]
PagedArray = Annotated[PageOfArray, Query()]


@dataclass(frozen=True, slots=True)
class Cursor:
    """Just before or just after an item, by the value that the list is in the order of. Opaque to who is given one."""

    back: bool
    value: str | int

    @classmethod
    def read(cls, text: str) -> Self:
        """Raises `BadCursorError`."""
        try:
            back, value = json.loads(urlsafe_b64decode(text.encode("ascii")))
        except (ValueError, TypeError) as error:
            raise BadCursorError(BadCursorError.__doc__) from error
        if not (isinstance(back, bool) and isinstance(value, str | int)) or UNSTORABLE.search(str(value)):
            raise BadCursorError(BadCursorError.__doc__)
        return cls(back, value)

    def __str__(self) -> str:
        return urlsafe_b64encode(json.dumps([self.back, self.value]).encode()).decode()


@dataclass(frozen=True, slots=True)
class ListPage:
    """The items of a page and its neighbours' cursors; None: there is none."""

    items: Sequence[Any]
    next: str | None = None
    previous: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """As an answer that is an object has it."""
        return {"items": self.items, "next": self.next, "previous": self.previous}


def page_of(rows: QuerySet[Row], asked: _Asked, *, order: str, limit: int) -> ListPage:
    """A page of rows. `order`: a unique column, with `-` where the largest is first. Raises `BadCursorError`."""
    column, falls = order.removeprefix("-"), order.startswith("-")
    place = Cursor.read(asked.cursor) if asked.cursor else None
    back = place is not None and place.back
    if place is not None:
        rows = rows.filter(**{f"{column}__{'lt' if falls != back else 'gt'}": _value(rows, column, place)})
    rows = rows.order_by(f"{'-' if falls != back else ''}{column}")
    found = list(rows[: limit + 1])
    return _found(found[:limit], place, lambda row: _stored(row, column), more=len(found) > limit)


def items_of(items: Sequence[Item], asked: _Asked, *, limit: int) -> ListPage:
    """A page of a list that only grows at its end, or does not change: its places are numbers."""
    place = Cursor.read(asked.cursor) if asked.cursor else None
    if place is not None and not isinstance(place.value, int):
        raise BadCursorError(BadCursorError.__doc__)
    numbers = range(len(items))
    if place is None:
        chosen = numbers[: limit + 1]
    elif place.back:
        chosen = numbers[max(0, int(place.value) - limit - 1) : max(0, int(place.value))][::-1]
    else:
        chosen = numbers[max(0, int(place.value) + 1) :][: limit + 1]
    page = _found(list(chosen[:limit]), place, lambda number: number, more=len(chosen) > limit)
    return ListPage([items[number] for number in page.items], page.next, page.previous)


def array_of(request: HttpRequest, response: HttpResponse, page: ListPage) -> Sequence[Any]:
    """The items; their neighbours' addresses are in the header."""
    links = [
        f'<{request.path}?{_query(request, cursor)}>; rel="{name}"'
        for name, cursor in (("next", page.next), ("prev", page.previous))
        if cursor is not None
    ]
    if links:
        response["Link"] = ", ".join(links)
    return page.items


def rows_array(
    request: HttpRequest, response: HttpResponse, rows: QuerySet[Row], asked: PageOfArray, *, order: str
) -> Sequence[Row]:
    """All rows as they are ordered, or a page of them."""
    if asked.cursor is None and asked.limit is None:
        return list(rows)
    return array_of(request, response, page_of(rows, asked, order=order, limit=asked.limit or DEFAULT_LIMIT))


def items_array(
    request: HttpRequest, response: HttpResponse, items: Sequence[Item], asked: PageOfArray
) -> Sequence[Item]:
    """All items, or a page of them."""
    if asked.cursor is None and asked.limit is None:
        return items
    return array_of(request, response, items_of(items, asked, limit=asked.limit or DEFAULT_LIMIT))


def _query(request: HttpRequest, cursor: str) -> str:
    given = request.GET.copy()
    given["cursor"] = cursor
    return given.urlencode()


def _value(rows: QuerySet[Row], column: str, place: Cursor) -> Any:
    try:
        field: models.Field[Any, Any] = rows.model._meta.get_field(column)  # type: ignore[assignment]
        return field.to_python(place.value)
    except (ValidationError, ValueError, OverflowError) as error:
        raise BadCursorError(BadCursorError.__doc__) from error


def _stored(row: Model, column: str) -> str | int:
    value = getattr(row, column)
    return value if isinstance(value, int) else str(value)


def _found(items: list[Any], place: Cursor | None, value: Any, *, more: bool) -> ListPage:
    """`items`: in the order in which they were looked for. An empty page leads back to where its cursor came from."""
    back = place is not None and place.back
    if back:
        items.reverse()
    if not items:
        turned = None if place is None else str(Cursor(not back, place.value))
        return ListPage(items, next=turned if back else None, previous=None if back else turned)
    forth = str(Cursor(back=False, value=value(items[-1]))) if more or back else None
    behind = str(Cursor(back=True, value=value(items[0]))) if (more if back else place is not None) else None
    return ListPage(items, next=forth, previous=behind)
