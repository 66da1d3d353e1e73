"""The page about scaling names the place of every table."""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from dashboard.bench.shards.placement import COORDINATOR, NODES, NOTHING, PROJECT, REFERENCE, By

PAGE = Path("docs/explanation/scaling.md")


def test_the_scaling_page_lists_the_placement_of_every_table():
    assert placement_table() in PAGE.read_text()


def placement_table() -> str:
    """The table of that page."""
    groups = defaultdict[str, list[str]](list)
    for table, by in sorted(PROJECT.items()):
        groups[_found(by)].append(table)
    lines = ["| place | the project of a row is | tables |", "|---|---|---|"]
    in_schema = sorted(groups.items(), key=lambda group: -len(group[1]))
    lines += [f"| schema of the project | {found} | {_listed(tables)} |" for found, tables in in_schema]
    lines += [
        f"| every node (a reference table in Citus) | – | {_listed(sorted(REFERENCE))} |",
        f"| coordinator | – | {_listed(sorted(COORDINATOR))} |",
    ]
    return "\n".join(lines)


def _found(by: By) -> str:
    if by == NOTHING:
        return "none: each schema begins with an empty table"
    if by.table == NODES:
        return "the one whose turns refer to the message, or to one that follows it"
    return f"that of its row in `{by.table}` (`{by.column}`)" if by.table else "in its column `project_id`"


def _listed(tables: Iterable[str]) -> str:
    return ", ".join(f"`{table}`" for table in tables)
