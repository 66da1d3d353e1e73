"""What the tables of the product and their columns mean: from the docstrings and `#:` comments of their models, else
from help texts, else from the words below. Whoever adds a column says there what it means."""

import ast
import inspect
import linecache
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from django.apps import apps
from django.db import models

from dashboard.turns.sql_views.shared_comments import COMMON, OF_TABLE

_ASSIGNED = re.compile(r"(\w+)(?:: [^=]+)? = ")
_GOES_ON = ("of ", "in ", "from ", "at ", "among ", "after ", "with ")  #: a comment that goes on from its name
_CODE = re.compile(r"\s*\((?:`[^`]*`|`[^`]*`, )+\)")  #: a hint where in the code to look


@dataclass(frozen=True, slots=True)
class TableComment:
    """What a table means, and each of its columns."""

    about: str
    columns: dict[str, str]


@cache
def table_comments() -> dict[str, TableComment]:
    """By table, of all tables of the product."""
    told_of = [model for model in apps.get_models(include_auto_created=True) if _is_ours(model)]
    found = {model._meta.db_table: _meaning(model) for model in told_of if model._meta.managed}
    for model in told_of:  # whose columns stand in the table of another
        if stands_in := getattr(model, "stands_in", None):
            table, prefix, own = stands_in
            told = _meaning(model).columns
            more = {f"{prefix}{column}": means for column, means in told.items() if column not in own}
            found[table] = TableComment(found[table].about, more | found[table].columns)
    return found


def _is_ours(model: type[models.Model]) -> bool:
    return apps.get_app_config(model._meta.app_label).name.startswith("dashboard.")


def _meaning(model: type[models.Model]) -> TableComment:
    kinds = (*reversed(_kept(model).__mro__), *reversed(model.__mro__))
    told = dict(pair for kind in kinds for pair in _told_in(kind))
    columns = {field.column: _of(field, told) for field in model._meta.concrete_fields if field.column}
    return TableComment(_table(model), columns)


def _kept(model: type[models.Model]) -> type[models.Model]:
    """The model whose changes a table keeps, which has the same columns; else the model itself."""
    kept: type[models.Model] = getattr(model, "pgh_tracked_model", model)
    return kept


def _table(model: type[models.Model]) -> str:
    table = model._meta.db_table
    written = inspect.cleandoc(model.__doc__ or "")
    made = not written or written.startswith(f"{model.__name__}(")  # by Django, from the columns
    return OF_TABLE.get(table, {}).get("") or ("" if made else _sentence(written))


def _of(field: "models.Field[object, object]", told: Mapping[str, str]) -> str:
    """Empty where nothing says it."""
    column, tables = str(field.column), (field.model._meta.db_table, _kept(field.model)._meta.db_table)
    of_table = next((word for table in tables if (word := OF_TABLE.get(table, {}).get(column))), "")
    said = told.get(field.name) or str(field.help_text or "") or of_table
    said = said or COMMON.get(column, "") or _related(field)
    if said.startswith(_GOES_ON):
        said = f"{field.name.replace('_', ' ')} {said}"
    return _sentence(said) if said else ""


def _related(field: "models.Field[object, object]") -> str:
    if not field.is_relation or field.related_model is None:
        return ""
    related = field.related_model
    return f"Id of the {related._meta.verbose_name}, in {related._meta.db_table}."


def _sentence(text: str) -> str:
    """One paragraph that begins and ends as a sentence does."""
    plain = _CODE.sub("", " ".join(text.split())).replace("`", "").strip()
    return f"{plain[:1].upper()}{plain[1:]}" + ("" if plain.endswith((".", "…")) else ".")


def _lines_of(kind: type) -> Sequence[str]:
    """The source of a class; none where it was made while the program runs, as tables of changes are."""
    first, last = _places_of(kind.__module__).get(kind.__qualname__, (0, 0))
    return linecache.getlines(str(sys.modules[kind.__module__].__file__))[first:last]


@cache
def _places_of(module: str) -> dict[str, tuple[int, int]]:
    """The lines of each class of a module: `inspect.getsource` parses the module again for each class of it."""
    path = sys.modules[module].__file__
    tree = ast.parse("".join(linecache.getlines(str(path))))
    return dict(_classes(tree, ""))


def _classes(tree: ast.AST, within: str) -> Iterator[tuple[str, tuple[int, int]]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            yield within + node.name, (node.lineno - 1, node.end_lineno or node.lineno)
            yield from _classes(node, f"{within}{node.name}.")


def _told_in(kind: type) -> Iterator[tuple[str, str]]:
    """By field, its comment: the one behind it, and the ones on the lines before it."""
    if not kind.__module__.startswith("dashboard."):
        return
    before: list[str] = []
    for line in map(str.strip, _lines_of(kind)):
        if line.startswith("#:"):
            before.append(line[2:].strip())
            continue
        _, _, behind = line.partition("  #: ")
        if (assigned := _ASSIGNED.match(line)) and (told := " ".join([*before, behind.strip()]).strip()):
            yield assigned[1], told
        before = []
