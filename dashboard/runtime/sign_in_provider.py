"""The OpenID Connect provider that people may sign in with, as the environment describes it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from dashboard.runtime.errors import StartError

ROLES = ("admin", "operator", "watcher")  #: the highest first
EVERYONE = "*"  #: in place of a group
DEFAULT_ROLES = f"watcher={EVERYONE}"
_THIS_MACHINE = frozenset({"127.0.0.1", "::1", "localhost"})


@dataclass(frozen=True, slots=True)
class SignInProvider:
    """Without an issuer nobody signs in this way."""

    issuer: str = ""  #: WHYSTOP_OIDC_ISSUER: the address whose `/.well-known/openid-configuration` describes it
    client_id: str = ""  #: WHYSTOP_OIDC_CLIENT_ID
    client_secret: str = field(default="", repr=False)  #: WHYSTOP_OIDC_CLIENT_SECRET; empty: a public client
    name: str = "single sign-on"  #: WHYSTOP_OIDC_NAME: on the button
    groups_claim: str = "groups"  #: WHYSTOP_OIDC_GROUPS_CLAIM: the claim that lists a person's groups
    roles: Mapping[str, frozenset[str]] = field(default_factory=dict)  #: WHYSTOP_OIDC_ROLES: the groups of each role

    @property
    def manages_roles(self) -> bool:
        """Whether a group decides a role: then each sign-in sets it again."""
        return any(groups - {EVERYONE} for groups in self.roles.values())

    def role_of(self, groups: frozenset[str]) -> str | None:
        """The highest role that one of a person's groups has; None: this person may not sign in."""
        given = groups | {EVERYONE}
        return next((role for role in ROLES if self.roles.get(role, frozenset()) & given), None)


def provider_read(issuer: str, variables: Mapping[str, str]) -> SignInProvider:
    """`variables`: of the environment. Raises StartError for one that makes no sense."""

    def text(name: str, default: str = "") -> str:
        return variables.get(f"WHYSTOP_OIDC_{name}", "").strip() or default

    if not issuer:
        return SignInProvider()
    if not (client_id := text("CLIENT_ID")):
        raise StartError("WHYSTOP_OIDC_ISSUER is set, and WHYSTOP_OIDC_CLIENT_ID is not: set it to the client's id.")
    address = urlsplit(issuer)
    if address.scheme != "https" and address.hostname not in _THIS_MACHINE:
        raise StartError("WHYSTOP_OIDC_ISSUER must be an https address, unless the provider runs on this machine.")
    given = {"name": text("NAME", "single sign-on"), "groups_claim": text("GROUPS_CLAIM", "groups")}
    roles = roles_read(text("ROLES", DEFAULT_ROLES))
    return SignInProvider(issuer, client_id, text("CLIENT_SECRET"), roles=roles, **given)


def roles_read(text: str) -> dict[str, frozenset[str]]:
    """The groups of each role, of `admin=platform, operator=ml, operator=research, watcher=*`. Raises StartError."""
    found: dict[str, set[str]] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        role, equals, group = (word.strip() for word in part.partition("="))
        if role not in ROLES or not equals or not group:
            raise StartError(
                f"WHYSTOP_OIDC_ROLES cannot be read at “{part}”: write role=group, comma-separated; the roles are "
                f"{', '.join(ROLES)}, and {EVERYONE} stands for everyone."
            )
        found.setdefault(role, set()).add(group)
    return {role: frozenset(groups) for role, groups in found.items()}
