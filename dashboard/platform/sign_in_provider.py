"""The OpenID Connect provider that people may sign in with, as the environment describes it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from dashboard.platform.errors import StartError

ROLES = ("admin", "operator", "watcher")  #: the highest first
DEFAULT = "default"  #: the project of a role that names none
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
    #: of the same variable, the roles in other projects than `default`: by project, the groups of each role
    project_roles: Mapping[str, Mapping[str, frozenset[str]]] = field(default_factory=dict)

    @property
    def manages_roles(self) -> bool:
        """Whether a group decides a role: then each sign-in sets it again."""
        every = (self.roles, *self.project_roles.values())
        return any(groups - {EVERYONE} for roles in every for groups in roles.values())

    def role_of(self, groups: frozenset[str], project: str | None = None) -> str | None:
        """The highest role in a project that one of a person's groups has; None: they have none there.

        `project`: its name; None: `default`.
        """
        roles = self.roles if project is None else self.project_roles.get(project, {})
        given = groups | {EVERYONE}
        return next((role for role in ROLES if roles.get(role, frozenset()) & given), None)


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
    roles, project_roles = roles_read(text("ROLES", DEFAULT_ROLES))
    return SignInProvider(issuer, client_id, text("CLIENT_SECRET"), roles=roles, project_roles=project_roles, **given)


Roles = dict[str, frozenset[str]]


def roles_read(text: str) -> tuple[Roles, dict[str, Roles]]:
    """The groups of each role in `default`, and by project those in others.

    Of `admin=platform, watcher=*, search/operator=ml, search/operator=research`. Raises StartError.
    """
    found: dict[str, dict[str, set[str]]] = {"": {}}
    for part in filter(None, (part.strip() for part in text.split(","))):
        place, equals, group = (word.strip() for word in part.partition("="))
        project, _, role = place.rpartition("/")
        if role not in ROLES or not equals or not group:
            raise StartError(
                f"WHYSTOP_OIDC_ROLES cannot be read at “{part}”: write role=group or project/role=group, "
                f"comma-separated; the roles are {', '.join(ROLES)}, and {EVERYONE} means everyone."
            )
        found.setdefault("" if project == DEFAULT else project, {}).setdefault(role, set()).add(group)
    whole = {project: {role: frozenset(of) for role, of in roles.items()} for project, roles in found.items()}
    return whole.pop(""), whole
