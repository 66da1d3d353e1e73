"""Who changed what of the configuration, when and why: rows that the database writes itself and lets nobody change.

Each audited model has a table of changes beside it (`AgentChange`, …), filled by triggers (django-pghistory), so a
change past the services is in it too, only without a name. Versions and activations need none: they are never changed,
and carry who made them and why.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import pghistory
from django.contrib.auth.base_user import AbstractBaseUser
from django.db import models

from dashboard.platform.fields import storable_text

MAX_WHY = 500  #: characters
#: The entry of the audit log in whose course something is changed; empty where there is none.
action: ContextVar[str] = ContextVar("audited_action", default="")
#: Which of a route's actions were done, of a request that the audit log records. A list, for a view may run in a copy
#: of the context.
done: ContextVar[list[str] | None] = ContextVar("audited_done", default=None)


def tell_done(what: str) -> None:
    """Tell the audit log which of its route's actions a request did; without an entry, nobody."""
    told = done.get()
    if told is not None:
        told.append(what)


def keep_changes(model: type[models.Model], *, but: tuple[str, ...] = ()) -> None:
    """Have the database keep every insert, update and delete of the model's rows; columns `but` are left out."""
    pghistory.track(
        pghistory.InsertEvent("made"),
        pghistory.UpdateEvent("changed", row=pghistory.New),
        pghistory.DeleteEvent("deleted", row=pghistory.Old),
        exclude=list(but),
        obj_field=pghistory.ObjForeignKey(related_name="changes", related_query_name="changes"),
        context_field=pghistory.ContextJSONField(),
        context_id_field=None,  # type: ignore[arg-type]  # its docstring allows None
        model_name=f"{model.__name__}Change",
    )(model)


@contextmanager
def on_behalf(by: AbstractBaseUser | str | None, why: str = "") -> Iterator[None]:
    """What changes within is said to be this person's, or of what a text names, for this reason."""
    name = by if isinstance(by, str) else by.get_username() if by is not None else ""
    course = {"action": action.get()} if action.get() else {}
    with pghistory.context(by=name, why=reason(why), **course):
        yield


def reason(why: str) -> str:
    """Why something was done, as it is kept."""
    return storable_text(why.strip())[:MAX_WHY]
