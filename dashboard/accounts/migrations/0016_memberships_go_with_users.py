"""The foreign key of a membership deletes it with its user, as a trigger on the users did before.

On a cluster each node has a copy of the users, where a trigger would run on each of them; a foreign key does not.
"""

from django.db import migrations

KEY = "accounts_membership_user_id_487fb39e_fk_accounts_user_id"
#: `{does}`: what happens to a membership whose user is deleted. Both tables are small.
MADE = f"""
ALTER TABLE accounts_membership DROP CONSTRAINT {KEY};
ALTER TABLE accounts_membership ADD CONSTRAINT {KEY} FOREIGN KEY (user_id) REFERENCES accounts_user (id)
    {{does}} DEFERRABLE INITIALLY DEFERRED;
"""
DROP_TRIGGER = """
DROP TRIGGER membership_end ON accounts_user;
DROP FUNCTION accounts_membership_end();
"""
MAKE_TRIGGER = """
CREATE FUNCTION accounts_membership_end() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM accounts_membership WHERE user_id = OLD.id;
    RETURN OLD;
END
$$;
CREATE TRIGGER membership_end BEFORE DELETE ON accounts_user FOR EACH ROW EXECUTE FUNCTION accounts_membership_end();
"""


class Migration(migrations.Migration):
    dependencies = [("accounts", "0015_second_factors_set")]

    operations = [
        migrations.RunSQL(MADE.format(does="ON DELETE CASCADE"), MADE.format(does="")),
        migrations.RunSQL(DROP_TRIGGER, MAKE_TRIGGER),
    ]
