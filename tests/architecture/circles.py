"""Import circles: groups of packages and modules of one package that lead to each other by imports."""

from collections.abc import Iterator, Mapping, Set
from functools import cache

import grimp

ROOTS = ("agentcore", "dashboard")
Circles = dict[str, list[tuple[str, ...]]]


@cache
def import_graph() -> grimp.ImportGraph:
    """All imports, also those inside functions and those for types alone."""
    return grimp.build_graph(*ROOTS, cache_dir=None)


def circles(graph: grimp.ImportGraph) -> Circles:
    """The circles among what is directly in a package, by the package. A package counts with all that is in it."""
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    found = {package: circles_of(_lifted(imports, package)) for package in sorted({_parent(one) for one in imports})}
    return {package: groups for package, groups in found.items() if package and groups}


def _parent(module: str) -> str:
    return module.rpartition(".")[0]


def _lifted(imports: Mapping[str, Set[str]], package: str) -> dict[str, set[str]]:
    """What is directly in the package, each with what of it is imported from there."""
    lifted: dict[str, set[str]] = {}
    for module, imported in imports.items():
        if name := _name_in(package, module):
            lifted.setdefault(name, set()).update(other for one in imported if (other := _name_in(package, one)))
    return lifted


def _name_in(package: str, module: str) -> str:
    """The part of a module's name after its package's; empty where it is in another."""
    before, _, rest = module.partition(f"{package}.")
    return "" if before else rest.partition(".")[0]


def circles_of(graph: Mapping[str, Set[str]]) -> list[tuple[str, ...]]:
    """The strongly connected components of more than one name, each sorted."""
    reached = {name: set(_reached(graph, name)) for name in graph}
    groups = {tuple(sorted(other for other in there if name in reached[other])) for name, there in reached.items()}
    return sorted(group for group in groups if len(group) > 1)


def _reached(graph: Mapping[str, Set[str]], name: str) -> Iterator[str]:
    seen, left = set[str](), [name]
    while left:
        for other in graph.get(left.pop(), ()):
            if other not in seen:
                seen.add(other)
                left.append(other)
                yield other
