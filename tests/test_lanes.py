from tests.first_start import CHECKOUT
from tests.lanes import LONG


def test_slow_tests_are_where_the_ordering_expects_them():
    """Tests that moved would otherwise begin anywhere, and a run would wait for them at its end."""
    files = [str(path.relative_to(CHECKOUT)) for path in CHECKOUT.glob("tests/**/test_*.py")]
    nowhere = [place for line in LONG for place in line if not any(file.startswith(place) for file in files)]
    assert nowhere == []
