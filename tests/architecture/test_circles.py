"""No module leads back to itself by imports, not even by one inside a function; nor does a package."""

from graphlib import TopologicalSorter

import grimp
import pytest

from tests.architecture.circles import ROOTS, circles, circles_of, import_graph


def test_modules_have_no_import_cycles():
    graph = grimp.build_graph(*ROOTS, cache_dir=None, exclude_type_checking_imports=True)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert len(imports) > 1000
    TopologicalSorter(imports).prepare()  # raises CycleError, which names the modules


def test_packages_have_no_import_cycles():
    assert circles(import_graph()) == {}


@pytest.mark.parametrize(
    ("imports", "found"),
    [
        ({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}, [("a", "b", "c")]),
        ({"a": {"b"}, "b": {"a"}, "c": {"d"}, "d": {"c", "a"}}, [("a", "b"), ("c", "d")]),
        ({"a": {"a", "b"}, "b": set()}, []),
    ],
)
def test_cycles_are_found_completely(imports, found):
    assert circles_of(imports) == found
