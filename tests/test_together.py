"""Cases that are run together are all run, and each that fails is named with what it failed with."""

import pytest

from dashboard.accounts.models import User
from tests.together import together


def failure_of(test) -> str:
    with pytest.raises(pytest.fail.Exception) as failed:
        test()
    return str(failed.value)


def test_every_case_runs_and_every_failing_one_is_named():
    seen = []

    @together
    @pytest.mark.parametrize("word", ["a", pytest.param("b", id="the second")])
    @pytest.mark.parametrize(("number", "limit"), [(1, 2), (3, 2), (5, 9)], ids=["less", "more", "far less"])
    def test_numbers(word: str, number: int, limit: int) -> None:
        seen.append((word, number))
        assert number < limit

    told = failure_of(test_numbers)
    assert sorted(seen) == [("a", 1), ("a", 3), ("a", 5), ("b", 1), ("b", 3), ("b", 5)]
    assert told.startswith("2 of 6 cases failed: [more-a], [more-the second]\n")
    assert told.count("assert number < limit") == 2


def test_a_case_may_have_its_own_id():
    @together
    @pytest.mark.parametrize("model", [User])
    def test_is_abstract(model: type) -> None:
        assert model._meta.abstract

    assert failure_of(test_is_abstract).startswith("1 of 1 cases failed: [User]\n")


def test_cases_of_the_same_name_are_reported_individually():
    @together
    @pytest.mark.parametrize("text", ["a", "a ", "b"], ids=str.strip)
    def test_is_b(text: str) -> None:
        assert text == "b"

    assert failure_of(test_is_b).startswith("2 of 3 cases failed: [a], [a]\n")


def test_only_failures_are_printed():
    class Large:
        def __repr__(self) -> str:
            raise AssertionError("takes long")

    @together
    @pytest.mark.parametrize("value", [Large()])
    def test_is_true(value: Large) -> None:
        assert value

    test_is_true()


def test_a_case_that_fails_through_pytest_counts_as_failed():
    @together
    @pytest.mark.parametrize("number", [1, 2, 3])
    def test_refuses(number: int) -> None:
        with pytest.raises(ValueError, match="odd"):
            raise_for(number)

    assert failure_of(test_refuses).startswith("1 of 3 cases failed: [2]\n")


@pytest.mark.parametrize("end", [SystemExit(2), pytest.skip.Exception("not here")])
def test_a_case_that_exits_or_skips_does_not_stop_the_others(end: BaseException):
    seen = []

    @together
    @pytest.mark.parametrize("number", [1, 2, 3])
    def test_ends(number: int) -> None:
        seen.append(number)
        if number == 2:
            raise end

    assert failure_of(test_ends).startswith("1 of 3 cases failed: [2]\n")
    assert seen == [1, 2, 3]


def test_an_async_test_without_a_runner_is_refused():
    @pytest.mark.parametrize("number", [1])
    async def test_waits(number: int) -> None:
        assert not number

    with pytest.raises(AssertionError, match="nobody would wait"):
        together(test_waits)


def test_an_interruption_ends_the_run():
    @together
    @pytest.mark.parametrize("number", [1])
    def test_interrupted(number: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        test_interrupted()


def test_a_test_without_cases_is_refused():
    @pytest.mark.parametrize("number", [])
    def test_nothing(number: int) -> None:
        assert number

    with pytest.raises(AssertionError, match="proves nothing"):
        together(test_nothing)


@together
@pytest.mark.parametrize("number", [1, 2])
def test_a_fixture_is_created_once_for_all_cases(tmp_path, number: int):
    (tmp_path / str(number)).touch(exist_ok=False)
    assert len(list(tmp_path.iterdir())) == number


def raise_for(number: int) -> None:
    if number % 2:
        raise ValueError("odd")
