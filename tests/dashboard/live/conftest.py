import pytest
from django.db import connection


@pytest.fixture
def empty_queue(transactional_db: None) -> None:
    """No jobs and no workers: their tables are not ours, so the suite does not empty them between tests."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM procrastinate_jobs")
        cursor.execute("DELETE FROM procrastinate_workers")
