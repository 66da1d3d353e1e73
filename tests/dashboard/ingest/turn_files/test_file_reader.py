"""The values of a JSON text are counted before they are made; what stands in strings counts as one value."""

import time

import pytest
from django.core.exceptions import ValidationError

from dashboard.ingest.turn_files import file_reader
from dashboard.ingest.turn_files.file_reader import check_values, read_file
from tests.together import together

MANY = 30_000_000  #: bytes


@together
@pytest.mark.parametrize("unit", [b"[],", b"{},", b"1,", b'"",', b'{"a":{}},', b'"\\\\",', b"[", b'{"":'])
def test_a_text_of_too_many_values_is_refused_at_once(unit: bytes):
    began = time.process_time()
    with pytest.raises(ValidationError, match="may hold 1,000,000 values"):
        read_file(b"[" + unit * (MANY // len(unit)))
    assert time.process_time() - began < 10, "no value of it was made"


def test_the_limit_is_exact(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(file_reader, "MAX_VALUES", 6)
    check_values(b'{"a,": [1, 2, {"[": "{,"}]}')
    with pytest.raises(ValidationError):
        check_values(b'{"a,": [1, 2, {"[": "{,"}, 3]}')
