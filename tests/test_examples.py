"""Properties that are tried beside threads."""

import random
import threading

from hypothesis import given
from hypothesis import strategies as st


def _drawn_by_another_thread() -> None:
    """As a pool of connections or a channel layer does at any time."""
    thread = threading.Thread(target=random.random)
    thread.start()
    thread.join()


@given(st.builds(_drawn_by_another_thread))
def test_random_draws_of_another_thread_fail_no_property(drawn: None):
    assert drawn is None
