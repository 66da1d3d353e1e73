"""No module leads back to itself by imports, not even by one inside a function."""

from graphlib import TopologicalSorter

import grimp


def test_no_imports_go_in_a_circle():
    graph = grimp.build_graph("agentcore", "dashboard", cache_dir=None, exclude_type_checking_imports=True)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert len(imports) > 1000
    TopologicalSorter(imports).prepare()  # raises CycleError, which names the modules
