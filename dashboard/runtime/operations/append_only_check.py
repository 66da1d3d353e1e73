"""Whether the triggers are active that keep the history and the audit log from being changed.

The owner of a table and a superuser can turn them off, and on again. What was changed meanwhile is found by
`manage.py verify --all`; that they are off now is found here. Until all migrations are applied, some do not exist yet.
"""

import hashlib
from collections.abc import Iterator, Mapping

from django.db import connection

from dashboard.runtime.operations.database_checks import pending_migrations
from dashboard.runtime.operations.doctor import Finding, State

_CHANGE, _TRUNCATE = ("refuse_delete", "refuse_update"), "refuse_truncate"
#: By table, as the migrations create them. A partition has those of its table.
TRIGGERS: Mapping[str, tuple[str, ...]] = {
    "agents_agentchange": (*_CHANGE, _TRUNCATE),
    "agents_connectionchange": (*_CHANGE, _TRUNCATE),
    "agents_policyactivation": (*_CHANGE, _TRUNCATE),
    "agents_policyattachmentchange": (*_CHANGE, _TRUNCATE),
    "agents_policyversion": (*_CHANGE, _TRUNCATE),
    "alerting_alertchange": ("refuse_change", _TRUNCATE),
    "audit_entry": ("date_after_seals", "refuse_change", _TRUNCATE),
    "policies_shadow": (*_CHANGE, _TRUNCATE),
    "predictions_prediction": ("refuse_update",),
    "timeline_bulkaction": ("refuse_change", _TRUNCATE),
    "turns_attempt": ("refuse_change", "refuse_change_once_ended", _TRUNCATE),
    "turns_attemptchunk": ("refuse_change", _TRUNCATE),
    "turns_clientrequest": ("refuse_change", _TRUNCATE),
    "turns_node": ("refuse_change", _TRUNCATE),
    "turns_outcome": ("refuse_change", _TRUNCATE),
    "turns_record": ("refuse_change", _TRUNCATE),
    "turns_turnmessage": ("refuse_change", _TRUNCATE),
}
#: The digests of their functions' texts.
FUNCTIONS: Mapping[str, str] = {
    "whystop_date_after_audit_seals": "0da31994335f7e26",
    "whystop_refuse_audit_change": "6ab0b1dcb6cd7d9f",
    "whystop_refuse_change": "2ae0a3b44357cd02",
    "whystop_refuse_truncate": "fd923fdbc6d1546d",
}
_NAMED = 5  #: triggers, so that the line can be read
_ACTIVE = """
SELECT own.relname, coalesce(whole.relname, own.relname),
       array_agg(tgname::text) FILTER (WHERE tgenabled IN ('O', 'A')),
       array_agg(tgname::text) FILTER (WHERE tgenabled IN ('D', 'R'))
  FROM pg_class own
  LEFT JOIN pg_inherits ON inhrelid = own.oid
  LEFT JOIN pg_class whole ON whole.oid = inhparent
  LEFT JOIN pg_trigger ON tgrelid = own.oid AND NOT tgisinternal
 WHERE own.relnamespace = current_schema()::regnamespace AND own.relkind IN ('r', 'p')
   AND coalesce(whole.relname, own.relname) = ANY(%s)
 GROUP BY 1, 2
"""
_TEXTS = "SELECT proname, prosrc FROM pg_proc WHERE pronamespace = current_schema()::regnamespace AND proname = ANY(%s)"


def triggers() -> Iterator[Finding]:
    """Each trigger that refuses changes is there, active, and does what the migrations made it for."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW session_replication_role")
        (role,) = cursor.fetchone()
        cursor.execute(_ACTIVE, [[*TRIGGERS]])
        found = {name: (of, {*(active or ())}, {*(off or ())}) for name, of, active, off in cursor.fetchall()}
        cursor.execute(_TEXTS, [[*FUNCTIONS]])
        texts = dict(cursor.fetchall())
    found = {name: (name, set[str](), set[str]()) for name in TRIGGERS if name not in found} | found
    expected = [(name, trigger) for name, (of, _, _) in sorted(found.items()) for trigger in TRIGGERS[of]]
    off = [f"{name}.{trigger}" for name, trigger in expected if trigger in found[name][2]]
    missing = [f"{name}.{trigger}" for name, trigger in expected if trigger not in found[name][1] | found[name][2]]
    missing += [f"{name}()" for name, digest in FUNCTIONS.items() if text_digest(texts.get(name, "")) != digest]
    if role != "origin":
        off.insert(0, f"all, because session_replication_role is {role}")
    if missing and not off and pending_migrations():
        words, fix = f"Not checked: migrations change {_named(missing)}", "Apply the migrations, then check again."
        yield Finding("triggers", State.WARNING, words, fix)
    else:
        yield _finding(off + missing)


def text_digest(text: str) -> str:
    """Of a function's text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _finding(off: list[str]) -> Finding:
    if not off:
        return Finding("triggers", State.OK, "Those that refuse changes of the history and the audit log are active")
    fix = (
        "This was done outside Whystop. Run “manage.py verify --all”, which names what was changed, then turn them on"
        " (docs/how-to/operations.md)."
    )
    return Finding(
        "triggers", State.ERROR, f"Some that refuse changes are off, missing or replaced: {_named(off)}", fix
    )


def _named(off: list[str]) -> str:
    return ", ".join(off[:_NAMED]) + (f", and {len(off) - _NAMED} more" if len(off) > _NAMED else "")
