"""What a token may be limited to. Its user's rights still apply: a scope takes away and never gives.

read    reads everything, turns as files included
write   comments, tags, shares, imports, keeps views
run     starts turns, controls and replays them, calls models through the gateway, sends traces
admin   configuration: connections, policies, agents, keys, tokens, webhooks; the audit log; erasing turns
"""

from enum import StrEnum
from typing import Any

from dashboard.accounts import roles


class Scope(StrEnum):
    """In the order in which they are offered."""

    READ = "read"
    WRITE = "write"
    RUN = "run"
    ADMIN = "admin"


MEANINGS = {
    Scope.READ: "Read everything, and export turns",
    Scope.WRITE: "Comment, tag, share, import turns, save views",
    Scope.RUN: "Start, control and replay turns; call models through the gateway; send traces",
    Scope.ADMIN: "Change connections, policies, agents, keys and tokens; erase turns; read the audit log",
}
ALL = tuple(Scope)

_OF_PERMISSIONS = {
    roles.EXPORT: Scope.READ,
    roles.READ_AUDIT: Scope.ADMIN,
    **dict.fromkeys((roles.START, roles.CONTROL, roles.REPLAY), Scope.RUN),
    **dict.fromkeys((roles.TAG, roles.COMMENT, roles.SHARE, roles.IMPORT, roles.KEEP), Scope.WRITE),
}
#: Addresses that change something and need no permission, by the beginning of their route.
_WITHOUT_PERMISSION = {"account/": Scope.ADMIN, "api/v1/tokens": Scope.ADMIN, "sign-out": None}


def scope_of(permission: str) -> Scope:
    """The scope that a permission belongs to."""
    is_view = permission.partition(".")[2].startswith("view_")
    return _OF_PERMISSIONS.get(permission, Scope.READ if is_view else Scope.ADMIN)


def scope_needed(method: str | None, route: str) -> Scope | None:
    """The scope without which a request is refused; None: any will do."""
    permission = roles.needed(method, route)
    if permission is not None:
        return scope_of(permission)
    if method not in roles.SAFE_METHODS:
        found = [scope for begins, scope in _WITHOUT_PERMISSION.items() if route.startswith(begins)]
        if found:
            return found[0]
    return Scope.READ


def lacks(user: Any, scope: Scope | None) -> bool:
    """Whether the token of who asks does not have this scope."""
    return scope is not None and scope not in getattr(user, "scopes", ALL)


def refusal(scope: Scope) -> str:
    """What the holder of such a token is told."""
    return f"This token does not have the scope “{scope}”, which this needs. Create one with it."


def why_not(user: Any, permission: str) -> str:
    """What someone is told who may not: the scope that the token lacks, or the right that the user lacks."""
    scope = scope_of(permission)
    return refusal(scope) if lacks(user, scope) else roles.refusal(permission)
