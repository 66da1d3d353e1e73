"""The program behind `tests.forked_start`: it has loaded Whystop, and is split for each start of a command.

It loads under an environment of its own, and reads the settings of the command's after the split. Where something has
read a setting while it was loaded, and the command's is another, the command is started afresh in the same process.
"""

import gc
import json
import os
import runpy
import socket
import sys
from pathlib import Path
from typing import Any

#: Each start begins with a message of this many bytes at most, and the three descriptors it has.
MOST = 1 << 20
#: What has been read while loading and is read again by whoever needs it.
READ_AGAIN = frozenset({"DATABASES", "LOGGING"})


def load() -> dict[str, Any]:
    """Everything that `manage.py up` imports; gives what settings were read meanwhile."""
    import django
    from django.conf import settings
    from django.contrib.auth.hashers import PBKDF2PasswordHasher
    from django.core.management import get_commands, load_command_class
    from django.template.loader import get_template
    from django.urls import get_resolver

    gc.disable()
    django.setup()
    gc.disable()
    PBKDF2PasswordHasher.iterations = 1_000  # nobody guesses one here: half a second for each that is made or checked
    for name in ("up", "web", "worker", "ask", "shell"):
        load_command_class(get_commands()[name], name)
    from dashboard.runtime import warm_up

    warm_up._read_addresses(get_resolver())
    warm_up.get_snapshot()
    folder: Path = settings.BASE_DIR / "templates"
    for pattern in warm_up.ON_EVERY_PAGE:
        for file in sorted(folder.glob(pattern)):
            get_template(str(file.relative_to(folder)))
    import dashboard.runtime.application_parts
    import dashboard.runtime.server
    import dashboard.simulator.app  # noqa: F401

    gc.freeze()
    assert len([*Path("/proc/self/task").iterdir()]) == 1, "a thread would not be there after the split"
    return {name: value for name, value in vars(settings).items() if name.isupper()}


def serve(control: socket.socket) -> dict[str, Any]:
    """Splits for each request. Gives, in the new process alone, what it shall run."""
    while True:
        message, descriptors, _flags, _from = socket.recv_fds(control, MOST, 3)
        if not message:
            sys.exit()
        read, write = os.pipe()
        middle = os.fork()
        if not middle and not _told_of_child(write):
            for descriptor in (read, write, control.detach()):
                os.close(descriptor)
            for number, given in enumerate(descriptors):
                os.dup2(given, number, inheritable=True)
                os.close(given)
            return json.loads(message)
        for descriptor in (*descriptors, write):
            os.close(descriptor)
        os.waitpid(middle, 0)  # only now the new process is a child of whoever asked
        control.send(os.read(read, 20))
        os.close(read)


def _told_of_child(write: int) -> int:
    """Splits once more, and ends; goes on in the new process alone, which has no parent then."""
    process = os.fork()
    if process:
        os.write(write, str(process).encode())
        os._exit(0)
    return process


def is_as(asked: dict[str, Any], had: dict[str, Any]) -> bool:
    """Whether what was loaded is what a fresh start would load here. Makes the settings those of this environment."""
    from django.apps import apps
    from django.conf import settings
    from django.db import connections, router
    from django.utils.functional import empty

    import dashboard

    os.environ.clear()
    os.environ.update(asked["environment"])
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
    if os.environ["DJANGO_SETTINGS_MODULE"] != "dashboard.settings" or "WHYSTOP_PROCESS" in os.environ:
        return False
    del sys.modules["dashboard.settings"], dashboard.settings
    for name in [*vars(settings)]:
        if name.isupper():
            del vars(settings)[name]
    settings._wrapped = empty
    try:
        now = {name: getattr(settings, name) for name in had}
    except Exception:  # which a fresh start shall tell
        return False
    connections._settings = router._routers = None
    vars(connections).pop("settings", None)
    vars(router).pop("routers", None)
    for alias in ("default", "replica"):
        if hasattr(connections._connections, alias):
            del connections[alias]
    runtime = apps.get_app_config("runtime")
    apps.populate = lambda _installed=None: runtime.ready()  # type: ignore[method-assign]
    return all(name in READ_AGAIN or now[name] == value for name, value in had.items())


def run(asked: dict[str, Any], had: dict[str, Any]) -> None:
    """As `python manage.py …` does."""
    os.chdir(asked["folder"])
    if asked["new_session"]:
        os.setsid()
    if not is_as(asked, had):
        os.execve(sys.executable, [sys.executable, *asked["words"]], asked["environment"])
    sys.argv[:] = asked["words"]
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    _had = load()
    with socket.socket(fileno=int(sys.argv[1])) as _control:
        _control.send(b"loaded")
        _asked = serve(_control)
    run(_asked, _had)
