"""A cache of the nodes this process stored lately, so that each is sent once."""

from collections import OrderedDict
from collections.abc import Iterable
from uuid import UUID

from dashboard.turns.nodes import NewNode

MOST = 100_000


class KnownNodes:
    """An eraser may have removed one since: then the database refuses what builds on it, and all are sent again."""

    def __init__(self) -> None:
        self._ids: OrderedDict[UUID, None] = OrderedDict()

    def lacking(self, nodes: Iterable[NewNode]) -> list[NewNode]:
        """Those that are not known, each once."""
        return [node for node in {node.id: node for node in nodes}.values() if node.id not in self._ids]

    def add(self, nodes: Iterable[NewNode]) -> None:
        """They are stored; those that were named longest ago are forgotten."""
        for node in nodes:
            self._ids[node.id] = None
            self._ids.move_to_end(node.id)
        while len(self._ids) > MOST:
            self._ids.popitem(last=False)

    def forget(self) -> None:
        """Nothing is known any more."""
        self._ids.clear()
