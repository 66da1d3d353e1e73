from errno import EACCES, EDQUOT, EIO, EMFILE, ENFILE, ENOMEM, ENOSPC, EPERM, EROFS
from pathlib import Path

import pytest

from dashboard.platform.postgres.errors import PostgresError, said_by_postgres, told_in_a_sentence
from tests.together import together

FOLDER = Path("/data")


@together
@pytest.mark.parametrize(
    ("number", "words"),
    [
        (ENOSPC, "The disk is full"),
        (EDQUOT, "The disk is full"),
        (EACCES, "is not open to this user"),
        (EPERM, "is not open to this user"),
        (EROFS, "is on a read-only disk"),
        (EMFILE, r"raise the limit \(ulimit -n\)"),
        (ENFILE, r"raise the limit \(ulimit -n\)"),
        (ENOMEM, "out of memory"),
        (EIO, "cannot be used: Input/output error."),
    ],
)
def test_a_system_error_is_one_sentence(number: int, words: str):
    with pytest.raises(PostgresError, match=words) as caught, told_in_a_sentence(FOLDER):
        raise OSError(number, {EIO: "Input/output error"}.get(number, "x"))
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


@together
@pytest.mark.parametrize(
    ("output", "words"),
    [
        ('initdb: error: could not write file "x": No space left on device\n', "The disk is full"),
        ("FATAL:  wrote only 4096 of 8192 bytes\nHINT:  Check free disk space.\nPANIC:  aborted", "The disk is full"),
        ("PANIC:  could not write to file: Disk quota exceeded", "The disk is full"),
        ('FATAL:  could not open file "base": Read-only file system', "read-only disk"),
        ("postgres: error while loading shared libraries: libz.so.1", "do not run on this system"),
        ('initdb: error: could not access directory "/data": Permission denied', "not open to this user"),
        ("FATAL:  could not create shared memory segment: No memory", "no shared memory"),
        ("FATAL:  could not open file: Too many open files", "raise the limit (ulimit -n)"),
        ("LOG:  starting\nFATAL:  something new.\nLOG:  database system is shut down\n", "FATAL:  something new."),
        ("", "it said nothing"),
    ],
)
def test_the_output_of_a_postgres_program_becomes_one_sentence(output: str, words: str):
    message = str(said_by_postgres(output, folder=FOLDER))
    assert words in message
    assert message.endswith(".")
    assert "\n" not in message
