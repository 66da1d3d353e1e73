"""The whole suite runs on one real PostgreSQL: that of DATABASE_URL, else an embedded one kept between sessions.

Every session, and with `-n` every worker of one, makes a database of its own in it, so they may run side by side.
"""

import contextlib
import functools
import gc
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import hypothesis
import psycopg
import pytest
from django.conf import settings
from django.db import connections
from django.template.base import Template
from django.test import TransactionTestCase
from django.test.utils import instrumented_test_render
from pytest_django import DjangoDbBlocker

from dashboard.agents.current_project import current
from dashboard.metrics import labels
from dashboard.platform.database import database_settings
from dashboard.platform.postgres import Share, start
from tests import emptying, first_start, lanes, split_workers, template_database
from tests.examples import ALL, USUAL, examples, with_utf_8_known, without_constants_of_the_tree
from tests.redis_server import Redis

APT = "run `apt-get install chromium redis-server nginx-light openssl` to have this tested"
CHROMIUM = ("chromium-headless-shell", "chromium", "chromium-browser")
_CLUSTER = Path(tempfile.gettempdir()) / f"whystop-tests-{os.getuid()}"
_NAME = "test_whystop_{pid}"
_MANY = {"max_connections": "300"}  # for two hundred turns on four processes, and whatever other workers do beside it
#: New objects before the youngest are searched for garbage, and how often before the older ones are: by default, 700
#: and 10, that takes a twentieth of the processor time of tests.
GARBAGE = (20_000, 20, 20)
_share: list[Share] = []

# A slow machine is not a fault. What lands is judged by the same examples each time; chance searches everywhere else.
hypothesis.settings.register_profile("search", deadline=None, max_examples=examples(USUAL))
hypothesis.settings.register_profile("judge", hypothesis.settings.get_profile("search"), derandomize=True)
hypothesis.settings.load_profile("judge" if os.environ.get("CI") else "search")
if os.environ.get("CI") and not ALL:
    without_constants_of_the_tree()
with_utf_8_known()

# What one process has compiled the hundreds that the tests start need not compile again: 0.6 s for each.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Nobody has to guess a password here, nor to make guessing slow: 0.25 s for each user that is made.
settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

# pytest-django empties tables by TRUNCATE, which history refuses; this lets TRUNCATE through and nothing else.
os.environ["PGOPTIONS"] = "-c whystop.erasing=truncate"


@pytest.fixture(autouse=True)
def _no_label_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Metrics tell so many names apart in a process, and one process runs thousands of tests."""
    monkeypatch.setattr(labels, "_known", {})


@pytest.fixture
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder of the test's own, where seals are remembered: in the checkout's, those of other tests are."""
    monkeypatch.setattr(settings, "ENVIRONMENT", replace(settings.ENVIRONMENT, data_dir=tmp_path, signing_key=""))
    return tmp_path


@pytest.fixture(autouse=True)
def _no_current_project() -> None:
    """A test that calls a handler may leave its project as the current one, and no other has that row."""
    current.set(None)


_as_in_service = Template._render  # taken before Django's set-up for tests replaces it


@pytest.fixture(scope="session", autouse=True)
def _no_context_kept(django_test_environment: None) -> None:
    """Pages are rendered as in service: Django's test client would copy the context of each template that a page is
    made of, although few tests look at one. Those take `contexts`."""
    Template._render = _as_in_service


@pytest.fixture
def contexts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers have the `context` that they were rendered with, as Django's test client gives them."""
    monkeypatch.setattr(Template, "_render", instrumented_test_render)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Two for each processor: tests wait for browsers, servers and clocks, and others run meanwhile.

    The browser's tests, alone in one process, took 474 s for 157 s of processor time.
    """
    return 2 * len(os.sched_getaffinity(0))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config, specs: list[Any]) -> None:
    """Workers on this machine are split from one process that has imported the tests."""
    source = split_workers.Source(config.args)
    config.add_cleanup(source.end)
    for spec in specs:
        if spec.popen and not spec.python:
            spec.python = source.interpreter


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["run"] = os.getpid()


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[object]:
    """What nine thousand tests are kept as stays to the end: no search for garbage goes through it, neither while
    it grows, which takes a third of its time, nor afterwards. What comes later is searched seldom, as in a server."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(*GARBAGE)
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    items[:] = lanes.dealt(items, getattr(config, "workerinput", {}).get("workercount", 1))


def pytest_configure(config: pytest.Config) -> None:
    """Before anything connects. Settings are loaded by now, so the address is put into them."""
    if os.environ.get("DATABASE_URL") or _only_hands_out(config):
        return
    share = start(_CLUSTER, on_message=print, settings={**template_database.UNSAFE, **_MANY})
    _share.append(share)
    _drop_what_killed_sessions_left(share.url)
    os.environ["DATABASE_URL"] = share.url
    default = settings.DATABASES["default"]
    test_database = {**default.get("TEST", {}), "NAME": _NAME.format(pid=os.getpid())}
    default.update(database_settings(share.url), TEST=test_database)
    # Some import may have asked for the connection already, and it would keep the settings of before.
    with contextlib.suppress(AttributeError):
        del connections["default"]


def _only_hands_out(config: pytest.Config) -> bool:
    """Whether this process runs no test itself: with several workers each has a database of its own."""
    return bool(config.getoption("numprocesses", None)) and not hasattr(config, "workerinput")


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        first_start.forget(os.getpid())
    while _share:
        _share.pop().leave()
        del os.environ["DATABASE_URL"]


def _drop_what_killed_sessions_left(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for (name,) in connection.execute("SELECT datname FROM pg_database").fetchall():
            found = re.match(_NAME.format(pid=r"(\d+)"), name)
            if found and not Path("/proc", found[1]).exists():
                connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings: None) -> None:
    """All copy what the first of them has made."""
    if _share:
        connections["default"].settings_dict["TEST"]["TEMPLATE"] = template_database.made(_share[0].url)


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """A thread that ran for an event loop may have kept its connection; the database is dropped all the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", emptying.after)
        yield
    with django_db_blocker.unblock(), connections["default"].cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    return _no_skip((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    return _no_skip((yield))


def _no_skip(report):
    """Under WHYSTOP_REQUIRE_ALL=1 a test that was skipped has failed."""
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("WHYSTOP_REQUIRE_ALL") == "1":
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"{reason} (a failure, for WHYSTOP_REQUIRE_ALL=1)"
    return report


@pytest.fixture(scope="session")
def started_once(request: pytest.FixtureRequest) -> Callable[[Path], None]:
    """Makes a data folder what it is after a first start."""
    run = getattr(request.config, "workerinput", {}).get("run", os.getpid())
    tables = functools.partial(template_database.stored_in, url=_share[0].url) if _share else None
    return functools.partial(first_start.copied_to, run=run, with_tables=tables)


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of a chromium to drive: where there is one without windows of its own, that, for it costs the half."""
    found = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if found is None:
        pytest.skip(f"chromium is missing: {APT}")
    return found


@pytest.fixture
def redis() -> Iterator[Redis]:
    """A Redis of the test's own."""
    if shutil.which("redis-server") is None:
        pytest.skip(f"redis-server is missing: {APT}")
    server = Redis()
    server.start()
    yield server
    server.stop()
