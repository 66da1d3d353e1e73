"""docs/architecture.md, drawn from the code: packages, contracts, ways through it, tables."""

import ast
from collections.abc import Iterable, Iterator
from configparser import ConfigParser
from pathlib import Path

from django.apps import apps

from dashboard.turns.sql_views.model_comments import table_comments
from tests.architecture.circles import circles, import_graph
from tests.architecture.code_paths import LIMIT, NUMBERS, TURN, Way

ROOT = Path(__file__).parents[2]
_HEAD = """# Architecture

This page shows how the code is divided, and follows a turn, a limit and three numbers through it. It is generated:
`python -m tests.architecture > docs/architecture.md`. One test fails if the page is out of date; another one traces the
three paths through a running turn.

```
provider bytes → codec → event → advance(snapshot, event, policy) → transitions and one command
                                        ↓
  one template for page load, swap and push ← one Postgres transaction
```

- **The core (`agentcore`) is a library without I/O.** It takes events and returns commands. It uses no clock and no
  randomness, so a stored turn replays exactly.
- **The dashboard (`dashboard`) is a Django project.** It executes the commands, stores each event before the next
  command, and evaluates the stored events again to show a turn.
- **The last stored command is the outbox.** A worker that finds an unfinished turn continues it from that command.
- **Tests mirror the source.** The tests of `dashboard/turns/recorder.py` are in `tests/dashboard/turns/`.
"""


def page() -> str:
    """The text of docs/architecture.md."""
    parts = (_packages(), _layers(), _contracts(), *(_way(*way) for way in _WAYS), _tables())
    return _HEAD + "".join(f"\n{line}" for part in parts for line in part) + "\n"


_DJANGOS = {"commands", "management", "migrations", "templatetags"}
_WAYS = (
    (
        "One turn, from bytes to page",
        "An agent's turn runs, and then its page is opened. Each function is listed at its first call.",
        TURN,
    ),
    ("One limit, from form to verdict", "A limit is saved in the admin and later ends a turn.", LIMIT),
    (
        "Three numbers, from column to page",
        "The head of a turn's page shows the sufficient limit, the cost and the duration. A row of the timeline gets "
        "cost and duration from `with_row_context` in `dashboard/timeline/row_context.py`. It gets the limit from "
        "`cell` in `dashboard/policies/suggestions/views.py` when the row becomes visible.",
        NUMBERS,
    ),
)


def _packages() -> Iterator[str]:
    yield "## Packages"
    for package in ("agentcore", "dashboard"):
        yield from ("", f"| `{package}/` | |", "|---|---|")
        for folder in sorted(_rooms(ROOT / package)):
            yield f"| `{folder.relative_to(ROOT / package)}` | {_cell(_about(folder))} |"
    yield from ("", "`templates/` and `static/` contain pages, parts, styles and scripts. There is no build step.", "")


def _rooms(package: Path) -> Iterator[Path]:
    """The packages of a package and theirs, but for those that Django names."""
    for pattern in ("*/__init__.py", "*/*/__init__.py"):
        yield from (path.parent for path in package.glob(pattern) if path.parent.name not in _DJANGOS)


def _about(folder: Path) -> str:
    """The first sentence of a package's docstring."""
    return (ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or "").split("\n")[0]


def _layers() -> Iterator[str]:
    """The contracts of import-linter that order modules, and the circles that there are."""
    yield from ("## Layers", "", "A module imports only from layers below its own.")
    for contract in _of_type("layers"):
        yield from ("", f"{contract['name']}:", "", "```")
        yield from (line.replace("(", "").replace(")", "") for line in _lines(contract["layers"]))
        yield "```"
        if excepted := _lines(contract.get("ignore_imports", "")):
            yield from ("", f"Exceptions: {len(excepted)}. `.importlinter` lists them with their reasons.")
    yield from ("", _UPWARD, "", *_circles(), "")


_UPWARD = """\
A package can need what only a package above it has: the form of an agent lists the tools of `tools`. Then the package
below declares it, as a `Provided` value (`dashboard/platform/provided.py`) or as a signal in its `signals.py`. The
package above provides the value or connects the signal in its `AppConfig.ready`, when the program starts."""


def _circles() -> Iterator[str]:
    """How many groups of packages and modules lead to each other by imports, with the packages that they are in."""
    found = circles(import_graph())
    yield f"Import circles among the packages directly in `dashboard/`: {len(found.get('dashboard', ()))}."
    within = [(package, group) for package, groups in found.items() if package != "dashboard" for group in groups]
    yield f"Import circles of packages and modules within another package: {len(within)}."
    if within:
        yield from ("", "| in | which lead to each other |", "|---|---|")
        yield from (f"| `{package.replace('.', '/')}` | {_listed(group)} |" for package, group in within)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _contracts() -> Iterator[str]:
    yield from ("## Other import rules", "")
    yield from (f"- {contract['name']}." for kind in ("forbidden", "independence") for contract in _of_type(kind))
    yield from ("", "`lint-imports` checks all rules; `.importlinter` defines them.", "")


def _of_type(kind: str) -> Iterator[dict[str, str]]:
    read = ConfigParser()
    read.read(ROOT / ".importlinter", encoding="utf-8")
    return (dict(read[name]) for name in read.sections() if read[name].get("type") == kind)


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]


def _way(title: str, about: str, way: Way) -> Iterator[str]:
    yield from (f"## {title}", "", about, "", "| | function | |", "|---|---|---|")
    for n, (function, words) in enumerate(way.items(), 1):
        module, _, name = function.partition(":")
        yield f"| {n} | `{name}` in `{module.replace('.', '/')}.py` | {words} |"
    yield ""


def _tables() -> Iterator[str]:
    yield from (
        "## Tables",
        "",
        "The tables by app, described by the docstrings of their models. In the database, each column has a comment.",
    )
    comments = table_comments()
    for app in sorted({model._meta.app_label for model in apps.get_models() if model._meta.db_table in comments}):
        yield from ("", f"### {app}", "", "| table | |", "|---|---|")
        models = apps.get_app_config(app).get_models(include_auto_created=True)
        tables = sorted(model._meta.db_table for model in models)
        yield from (f"| `{table}` | {_cell(comments[table].about)} |" for table in tables if table in comments)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
