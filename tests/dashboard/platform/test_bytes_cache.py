"""A cache whose values may be large."""

import threading

from dashboard.platform.bytes_cache import BytesCache


class Texts:
    """So many bytes by their number; counts how often each was made."""

    def __init__(self, *, entries: int = 4, most: int = 10_000) -> None:
        self.made: list[int] = []
        self.cache = BytesCache(self._make, entries=entries, most=most)

    def _make(self, size: int) -> bytes:
        self.made.append(size)
        return b"x" * size


def test_a_cached_value_is_built_once():
    texts = Texts()
    assert [len(texts.cache(3)), len(texts.cache(3))] == [3, 3]
    assert texts.made == [3]


def test_the_least_recently_used_entry_is_dropped_first():
    texts = Texts(entries=2)
    for size in (1, 2, 1, 3, 1, 2):
        texts.cache(size)
    assert texts.made == [1, 2, 3, 2]


def test_the_cache_is_limited_in_bytes():
    texts = Texts(entries=100)
    for size in range(1_000, 1_100):
        texts.cache(size)
        assert texts.cache.size <= 10_000
    assert texts.cache.size > 8_000


def test_an_oversized_value_is_not_cached_and_evicts_nothing():
    texts = Texts()
    for size in (5, 20_000, 20_000, 5):
        assert len(texts.cache(size)) == size
    assert texts.made == [5, 20_000, 20_000]


def test_a_failed_build_caches_nothing():
    attempts: list[int] = []

    def make(key: int) -> bytes:
        attempts.append(key)
        if len(attempts) == 1:
            raise LookupError
        return b"there"

    cache = BytesCache(make, entries=2, most=1_000)
    try:
        cache(1)
    except LookupError:
        assert cache(1) == b"there"
    assert attempts == [1, 1]


def test_two_threads_that_build_the_same_value_cache_it_once():
    both = threading.Barrier(2)

    def make(_: int) -> bytes:
        both.wait(30)
        return b"x" * 100

    cache = BytesCache(make, entries=4, most=1_000)
    threads = [threading.Thread(target=cache, args=(1,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    size = cache.size
    cache.clear()
    assert (100 < size < 200, cache.size) == (True, 0)
