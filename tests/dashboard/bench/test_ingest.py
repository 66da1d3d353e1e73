"""What the benchmark of the ingest sends becomes turns, and their rows are what it copies."""

import gzip

import pytest

from dashboard.agents.selectors import project_default
from dashboard.bench.ingest.run import copied
from dashboard.bench.ingest.spans import EXPORT_SPANS, exports
from dashboard.ingest.services import ingest
from dashboard.ingest.wire import protobuf
from dashboard.turns.models import Turn


@pytest.mark.django_db
@pytest.mark.parametrize(("kind", "spans_a_turn", "attempts"), [("call", 2, 1), ("agent", 5, 2)])
def test_each_kind_of_trace_becomes_the_documented_number_of_turns(kind: str, spans_a_turn: int, attempts: int) -> None:
    ((body, spans),) = exports(kind, 1, seed=1)
    taken = protobuf.spans_of(gzip.decompress(body))
    ingest(project_id=project_default().pk, taken=taken, by=None)
    assert spans >= EXPORT_SPANS
    assert Turn.objects.filter(status="completed", attempts=attempts).count() == spans // spans_a_turn
    seconds, size = copied()
    assert seconds > 0
    assert size > 100 * spans
