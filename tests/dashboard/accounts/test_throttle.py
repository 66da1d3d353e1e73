from concurrent.futures import ThreadPoolExecutor

from dashboard.accounts.throttle import FailureCounter


def test_ten_failures_a_minute_cause_a_wait_until_the_first_is_a_minute_old():
    failures = FailureCounter()
    assert [failures.add("a", now=second) for second in range(10)] == [0] * 10
    assert failures.add("a", now=10) == 50
    assert failures.add("a", now=60) == 0
    assert failures.add("a", now=60) == 1
    assert failures.add("b", now=10) == 0


def test_no_more_attempts_pass_when_made_simultaneously():
    failures = FailureCounter()
    with ThreadPoolExecutor(40) as people:
        waits = list(people.map(lambda _: failures.add("a", now=0), range(40)))
    assert waits.count(0) == 10


def test_a_forgotten_address_starts_again():
    failures = FailureCounter(limit=1)
    failures.add("a", now=0)
    failures.forget("a")
    assert failures.add("a", now=0) == 0


def test_memory_is_bounded_by_forgetting_the_longest_silent_address():
    failures = FailureCounter(limit=1, addresses=2)
    for address in "abac":
        failures.add(address, now=0)
    assert failures.add("a", now=0) > 0
    assert failures.add("b", now=0) == 0
