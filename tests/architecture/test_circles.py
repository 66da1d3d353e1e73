"""No module leads back to itself by imports, not even by one inside a function; nor does a package of the dashboard."""

from graphlib import TopologicalSorter

import grimp
import pytest

from tests.architecture.circles import ROOTS, circles, circles_of, import_graph

#: Packages in which a sub-package and what is beside it still lead to each other. None may be added.
LEFT = {"dashboard.policies"}


def test_no_imports_of_modules_go_in_a_circle():
    graph = grimp.build_graph(*ROOTS, cache_dir=None, exclude_type_checking_imports=True)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert len(imports) > 1000
    TopologicalSorter(imports).prepare()  # raises CycleError, which names the modules


def test_no_packages_of_the_dashboard_form_a_circle():
    assert circles(import_graph()).get("dashboard", []) == []


def test_packages_within_packages_form_no_circle_but_those_that_are_left():
    assert circles(import_graph()).keys() == LEFT


@pytest.mark.parametrize(
    ("imports", "found"),
    [
        ({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}, [("a", "b", "c")]),
        ({"a": {"b"}, "b": {"a"}, "c": {"d"}, "d": {"c", "a"}}, [("a", "b"), ("c", "d")]),
        ({"a": {"a", "b"}, "b": set()}, []),
    ],
)
def test_circles_are_found_whole(imports, found):
    assert circles_of(imports) == found
