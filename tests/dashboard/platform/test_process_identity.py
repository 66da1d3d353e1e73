"""Which of several processes this one is: told by the environment, once, and by nobody but a supervisor."""

from argparse import ArgumentParser

import pytest

from dashboard.platform import process_identity
from dashboard.platform.process_identity import MOST, VARIABLE, ProcessIdentity, add_processes, read_place


def test_a_process_reads_its_index_once_so_that_its_children_have_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path, capfd
):
    told = ProcessIdentity("2", 3, str(tmp_path), link=1)
    monkeypatch.setenv(VARIABLE, told.told())
    monkeypatch.setattr(process_identity.os, "set_inheritable", lambda *_: None)
    assert read_place() == told
    assert read_place() is None


@pytest.mark.parametrize("word", ["0", "-1", "1.5", "two", "", str(MOST + 1)])
def test_an_invalid_number_of_processes_is_refused_in_a_sentence(word: str, capsys):
    parser = ArgumentParser()
    add_processes(parser)
    with pytest.raises(SystemExit):
        parser.parse_args([f"--processes={word}"])
    assert f"must be a whole number from 1 to {MOST}" in capsys.readouterr().err


def test_one_process_is_the_default():
    parser = ArgumentParser()
    add_processes(parser)
    assert parser.parse_args([]).processes == 1
    assert parser.parse_args(["--processes", str(MOST)]).processes == MOST
