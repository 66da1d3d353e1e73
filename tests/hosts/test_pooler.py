"""DATABASE_URL may lead to PgBouncer, which must leave a connection to whom it gave it."""

import pytest

from dashboard.bench.chaos.scratch import scratch
from dashboard.platform.database import check_server
from dashboard.platform.errors import StartError
from tests.hosts.pooler import PgBouncer

HERE = "127.0.0.1"

pytestmark = pytest.mark.nightly


@pytest.fixture
def poolers(django_db_setup: None, django_db_blocker, started_once, monkeypatch):
    """Makes one in front of a database."""
    monkeypatch.delenv("PGOPTIONS", raising=False)  # of the tests' own server; PgBouncer takes none
    made = []
    with django_db_blocker.unblock(), scratch(begin=started_once) as store:

        def start(mode: str) -> PgBouncer:
            pooler = PgBouncer(store.share, store.folder / f"pooler-{mode}", address=HERE, mode=mode)
            made.append(pooler)
            pooler.let_in()
            pooler.start()
            return pooler

        yield start
        for pooler in made:
            pooler.kill()


def test_a_pooler_in_session_mode_is_accepted(poolers):
    check_server(poolers("session").url)


@pytest.mark.parametrize("mode", ["transaction", "statement"])
def test_a_pooler_in_another_mode_is_refused_with_the_setting_to_change(poolers, mode):
    with pytest.raises(StartError, match="set pool_mode = session"):
        check_server(poolers(mode).url)
