from datetime import UTC, datetime, timedelta
from uuid import UUID

from dashboard.platform.ids import first_id_at, new_id


def test_ids_sort_by_creation_time():
    before = datetime.now(UTC)
    ids = [new_id() for _ in range(1000)]
    assert ids == sorted(ids)
    assert len(set(ids)) == 1000
    assert first_id_at(before) <= ids[0] < ids[-1] < first_id_at(before + timedelta(minutes=1))
    assert type(ids[0]) is UUID
    assert ids[0].version == 7
