"""Who waited in line with an import may have lost access meanwhile: it is looked at again when its turn comes."""

from collections.abc import Callable

from django.core.exceptions import ValidationError
from django.http import HttpRequest

from dashboard.accounts.roles import IMPORT
from dashboard.accounts.session_watch import holder_of, ticket_of_request

ENDED = "Your permission to import ended while this import waited. Nothing was imported."


def while_let_in(request: HttpRequest, read: Callable[[], bytes]) -> Callable[[], bytes]:
    """`read` for whom this request's token or session lets in when it is called; else that raises `ValidationError`."""
    ticket = ticket_of_request(request)

    def checked() -> bytes:
        holder = holder_of(ticket)
        if holder is None or not holder.has_perm(IMPORT):
            raise ValidationError(ENDED)
        return read()

    return checked
