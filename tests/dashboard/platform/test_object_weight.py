"""What a value keeps in memory is weighed with all that it refers to, once."""

from dataclasses import dataclass
from enum import Enum

from django.utils.functional import SimpleLazyObject

from dashboard.platform.object_weight import weight_of
from dashboard.turns.models import Turn

LARGE = "x" * 100_000


class Kind(Enum):
    ONE = LARGE


@dataclass
class Plain:
    text: str


@dataclass(frozen=True, slots=True)
class Slotted:
    text: str
    more: object = None


def test_texts_count_at_every_position():
    for value in ([LARGE], {LARGE: 1}, {"a": (LARGE,)}, Plain(LARGE), Slotted(LARGE), [Slotted("", Plain(LARGE))]):
        assert 100_000 < weight_of(value) < 102_000


def test_an_object_reached_twice_counts_once_even_in_a_cycle():
    ring: list[object] = [LARGE, LARGE, Plain(LARGE)]
    ring.append(ring)
    assert weight_of(ring) < 102_000


def test_shared_objects_count_as_nothing():
    assert weight_of([Kind.ONE, Plain, weight_of]) < 1_000


def test_a_row_counts_with_its_columns_and_without_djangos_metadata():
    turn = Turn(output_text=LARGE)
    made = list[str]()
    lazy = SimpleLazyObject(lambda: made.append(LARGE))
    assert 100_000 < weight_of([turn, Turn.objects.all(), lazy]) < 125_000
    assert made == []
