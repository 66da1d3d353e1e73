"""Answers 404 to paths that no stored object can have, before a view queries the database."""

from collections.abc import Callable
from typing import Any

from django.contrib.admin.exceptions import DisallowedModelAdminToField
from django.contrib.admin.options import TO_FIELD_VAR
from django.http import Http404, HttpRequest
from django.utils.deprecation import MiddlewareMixin

from dashboard.accounts.access import AccessForm, access_form_of

NUL = "\x00"


class ImpossibleRequestMiddleware(MiddlewareMixin):
    """404 for an address with U+0000 in one of its parts, which nothing stored has and PostgreSQL takes for an error;
    400 where the admin is asked for a row by a field without a name."""

    def process_view(self, request: HttpRequest, _view: Callable[..., Any], args: Any, given: Any) -> None:
        """Raises what Django answers."""
        if access_form_of(request.path_info) is AccessForm.SHARED:
            return  # whatever opens nothing there is answered by one page, which its view makes
        if any(NUL in part for part in (*args, *given.values()) if isinstance(part, str)):
            raise Http404("There is nothing with U+0000 in its name.")
        if request.path_info.startswith("/admin/") and "" in (request.GET.get(TO_FIELD_VAR), _posted(request)):
            raise DisallowedModelAdminToField("The field to look a row up by has no name.")


def _posted(request: HttpRequest) -> str | None:
    return request.POST.get(TO_FIELD_VAR) if request.method == "POST" else None
