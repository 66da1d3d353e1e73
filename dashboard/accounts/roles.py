"""Who may do what. The one table of roles, actions and addresses; who is not named a role may watch.

watcher    sees everything, takes turns away as files, acts on nothing
operator   talks to agents, controls and replays turns, comments, tags, shares, keeps
admin      also makes connections, policies and agents, and users (a user of the admin needs the tick *staff*, too)

A role is one of Django's groups (migration 0002), given to users in the admin. A token may do what its user may.
"""

from enum import StrEnum

#: Of the model Turn: what may be done to turns, and the words for it.
TURN_PERMISSIONS = (
    ("start_turn", "Start a turn, talk to an agent"),
    ("control_turn", "Hold, release, step, change or cancel a turn"),
    ("replay_turn", "Run a turn again, try a policy on many"),
    ("tag_turn", "Put tags on turns"),
    ("comment_turn", "Comment on a turn"),
    ("share_turn", "Share a turn by a link"),
    ("export_turn", "Export turns as files"),
    ("import_turn", "Import turns from files"),
    ("erase_turn", "Erase turns"),
    ("keep_view", "Keep views of the timeline"),
)


class Role(StrEnum):
    """The names of the groups."""

    WATCHER = "watcher"
    OPERATOR = "operator"
    ADMIN = "admin"


WATCHING = ("turns.export_turn",)
OPERATING = tuple(f"turns.{codename}" for codename, _ in TURN_PERMISSIONS)
