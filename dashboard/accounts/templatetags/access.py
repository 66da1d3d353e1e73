"""What a page tells those who may read it but may not use its form."""

from typing import Any

from django import template

from dashboard.accounts.roles import ACTIONS, CONTROL, WATCH, may, refusal

register = template.Library()


@register.simple_tag(takes_context=True)
def read_only_note(context: dict[str, Any]) -> str:
    """The sentence at the head of a page: which permission its form needs, or only that one may read; else empty."""
    request = context.get("request")
    if request is None or not request.user.is_authenticated:
        return ""
    found = request.resolver_match
    permission = ACTIONS.get(found.route.rstrip("/")) if found else None
    if permission and not may(request.user, permission):
        return refusal(permission, of="changing anything on this page")
    return "" if may(request.user, CONTROL) else WATCH
