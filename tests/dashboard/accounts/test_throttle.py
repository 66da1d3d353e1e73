from dashboard.accounts.throttle import Failures


def test_ten_failures_a_minute_and_then_a_wait_until_the_first_is_a_minute_old():
    failures = Failures()
    for second in range(10):
        assert failures.wait("a", now=second) == 0
        failures.add("a", now=second)
    assert failures.wait("a", now=10) == 50
    assert failures.wait("a", now=60) == 0
    assert failures.wait("b", now=10) == 0


def test_who_is_forgotten_starts_again():
    failures = Failures(limit=1)
    failures.add("a", now=0)
    failures.forget("a")
    assert failures.wait("a", now=0) == 0


def test_memory_is_bounded_and_the_longest_silent_address_is_forgotten():
    failures = Failures(limit=1, addresses=2)
    for address in "aba":
        failures.add(address, now=0)
    failures.add("c", now=0)
    assert [failures.wait(address, now=0) > 0 for address in "abc"] == [True, False, True]
