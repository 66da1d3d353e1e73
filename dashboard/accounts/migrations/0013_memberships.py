"""Members of projects. Everybody who is there becomes a member of `default`, with the role that their group gives.

The roles in `default` stay those of Django's groups, and a trigger writes them into the memberships: processes of the
release before, which know groups only, keep them true while both are running.

Reversing it loses the memberships of other projects. The release before lets everybody into all projects, with tokens
too, so reversing revokes the tokens of all projects but `default`.
"""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.contrib.auth.management import create_permissions
from django.db import migrations, models

FOLLOW = """
CREATE FUNCTION accounts_role_in_default(who bigint) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT g.name FROM accounts_user_groups ug JOIN auth_group g ON g.id = ug.group_id
    WHERE ug.user_id = who AND g.name IN ('admin', 'operator', 'watcher')
    ORDER BY array_position(ARRAY['admin', 'operator', 'watcher'], g.name::text) LIMIT 1
$$;
CREATE FUNCTION accounts_membership_follow() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    changed record := CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
    given text := accounts_role_in_default(changed.user_id);
BEGIN
    IF given IS NOT NULL THEN
        INSERT INTO accounts_membership (project_id, user_id, role)
        SELECT id, changed.user_id, given FROM agents_project WHERE name = 'default'
        ON CONFLICT (project_id, user_id) DO UPDATE SET role = EXCLUDED.role;
    ELSIF EXISTS (SELECT FROM auth_group WHERE id = changed.group_id AND name IN ('admin', 'operator', 'watcher')) THEN
        UPDATE accounts_membership SET role = '' FROM agents_project p
        WHERE p.name = 'default' AND project_id = p.id AND user_id = changed.user_id;
    END IF;
    RETURN NULL;
END
$$;
-- Processes of the release before delete users, and do not know that these have memberships.
CREATE FUNCTION accounts_membership_end() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM accounts_membership WHERE user_id = OLD.id;
    RETURN OLD;
END
$$;
CREATE TRIGGER membership_end BEFORE DELETE ON accounts_user FOR EACH ROW EXECUTE FUNCTION accounts_membership_end();
CREATE TRIGGER membership_follow AFTER INSERT OR DELETE ON accounts_user_groups
    FOR EACH ROW EXECUTE FUNCTION accounts_membership_follow();
INSERT INTO accounts_membership (project_id, user_id, role)
    SELECT p.id, u.id, coalesce(accounts_role_in_default(u.id), '')
    FROM accounts_user u, agents_project p WHERE p.name = 'default'
    AND (NOT u.is_superuser OR accounts_role_in_default(u.id) IS NOT NULL)
    ON CONFLICT (project_id, user_id) DO NOTHING
"""
FORGET = """
DROP TRIGGER membership_end ON accounts_user;
DROP FUNCTION accounts_membership_end();
DROP TRIGGER membership_follow ON accounts_user_groups;
DROP FUNCTION accounts_membership_follow();
DROP FUNCTION accounts_role_in_default(bigint);
UPDATE accounts_apitoken SET revoked_at = now() FROM agents_project p
    WHERE p.id = project_id AND p.name <> 'default' AND revoked_at IS NULL
"""


def give_members(apps, _):
    """The admins of a project say who its members are."""
    group, permission = apps.get_model("auth", "Group"), apps.get_model("auth", "Permission")
    config = apps.get_app_config("accounts")
    config.models_module = getattr(config, "models_module", None) or True
    create_permissions(config, verbosity=0, apps=apps)
    change = permission.objects.filter(content_type__app_label="accounts", codename="change_membership")
    for admin in group.objects.filter(name="admin"):
        admin.permissions.add(*change)


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0012_token_project"),
        ("agents", "0013_plain_words"),
    ]

    operations = [
        migrations.CreateModel(
            name="Membership",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "role",
                    models.CharField(
                        blank=True,
                        choices=[("watcher", "watcher"), ("operator", "operator"), ("admin", "admin")],
                        max_length=16,
                    ),
                ),
                (
                    "created_at",
                    models.DateTimeField(auto_now_add=True, db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="memberships", to="agents.project"
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memberships",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "default_permissions": ("change",),
                "constraints": [
                    models.UniqueConstraint(fields=("project", "user"), name="accounts_membership_one_role")
                ],
            },
        ),
        migrations.RunSQL(FOLLOW, FORGET),
        migrations.RunPython(give_members, migrations.RunPython.noop),
    ]
