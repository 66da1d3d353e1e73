"""Users and roles in the admin; roles are Django's groups. Tokens are made and revoked on their owners' account pages.

Nobody gives rights that they do not have, or opens an account that has them: who could set its password could sign in
as its user.
"""

from typing import Any, cast

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, Permission
from django.db.models import Field, QuerySet
from django.http import HttpRequest

from dashboard.accounts.models import User
from dashboard.accounts.roles import Role
from dashboard.accounts.selectors import groups_within, outranks, rights_of, token_by
from dashboard.accounts.two_factor import second_factor_remove


class Users(UserAdmin):  # type: ignore[type-arg]
    """Django's, within the rights of who uses it."""

    actions = ("turn_two_factor_off",)

    @admin.action(description="Turn two-factor authentication off", permissions=["change"])
    def turn_two_factor_off(self, request: HttpRequest, users: QuerySet[User]) -> None:
        """For people who lost their app and their recovery codes. Accounts with more rights are left alone."""
        within = [user for user in users if self.has_change_permission(request, user)]
        removed = 0
        for user in within:
            if second_factor_remove(user=user):
                self.log_change(request, user, "Turned two-factor authentication off.")
                removed += 1
        self.message_user(request, f"Two-factor authentication was turned off for {removed} of {len(users)} users.")

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Not by a token: what it would do outlives it, and a form that will be refused is not shown."""
        return super().has_add_permission(request) and token_by(request) is None

    def has_view_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return super().has_view_permission(request, obj) and _is_within(request, obj)

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """Also of the password's form."""
        may = super().has_change_permission(request, obj) and _is_within(request, obj)
        return may and token_by(request) is None

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """Also of the action, which asks for each row."""
        may = super().has_delete_permission(request, obj) and _is_within(request, obj)
        return may and token_by(request) is None

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> list[str]:
        """Superusers are made by superusers; when somebody joined or signed in is nobody's to write."""
        readonly = [*super().get_readonly_fields(request, obj), "last_login", "date_joined"]
        return readonly if _is_superuser(request) else [*readonly, "is_superuser"]

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Only roles and permissions that give no more than one has."""
        field = super().formfield_for_manytomany(db_field, request, **kwargs)
        if field is not None and db_field.name == "groups":
            field.help_text = (
                "The user has all permissions of these roles. Hold down “Control”, or “Command” on a Mac, to select "
                "more than one."
            )
        if field is not None and field.queryset is not None and not _is_superuser(request):
            field.queryset = _within(db_field, request.user, field.queryset)
        return _named(field)


class Groups(GroupAdmin):
    """Django's, for superusers: what a role may, all its users may."""

    def get_readonly_fields(self, request: HttpRequest, obj: Group | None = None) -> list[str]:
        """Roles are looked up by the names of their groups."""
        readonly = [*super().get_readonly_fields(request, obj)]
        return [*readonly, "name"] if obj is not None and obj.name in list(Role) else readonly

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest | None = None, **kwargs: Any) -> Any:
        return _named(super().formfield_for_manytomany(db_field, request, **kwargs))

    def has_add_permission(self, request: HttpRequest) -> bool:
        return _is_superuser(request) and token_by(request) is None

    def has_change_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:  # noqa: ARG002
        return _is_superuser(request) and token_by(request) is None

    def has_delete_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:  # noqa: ARG002
        return _is_superuser(request) and token_by(request) is None


def _named(field: Any) -> Any:
    """A field of permissions names those on roles as pages do: their stored names have Django's word."""
    if field is not None and field.queryset.model is Permission:
        field.label_from_instance = lambda permission: str(permission).replace(" group", " role")
    return field


def _is_superuser(request: HttpRequest) -> bool:
    return bool(request.user.is_superuser)


def _is_within(request: HttpRequest, user: User | None) -> bool:
    return user is None or not outranks(user, cast("User", request.user))


def _within(field: "Field[Any, Any]", user: Any, offered: QuerySet[Any]) -> QuerySet[Any]:
    return offered.filter(pk__in=rights_of(user)) if field.related_model is Permission else groups_within(user, offered)


admin.site.index_title = "Administration"
admin.site.register(User, Users)
admin.site.unregister(Group)
admin.site.register(Group, Groups)
