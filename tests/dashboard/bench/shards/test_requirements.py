"""Where each table goes when projects are spread over databases, compared with the catalogue of the database."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from dashboard.bench.shards.catalogue import Catalogue, Column, ForeignKey, Table, Trigger, read_catalogue
from dashboard.bench.shards.placement import LEFT_OUT, NOTHING, PROJECT, REFERENCE, WIDENED
from dashboard.bench.shards.requirements import by_rows, faults, is_left_out

pytestmark = pytest.mark.django_db
#: An UPDATE whose SET or WHERE may call the clock or chance, up to the end of the statement's text.
UPDATE = re.compile(
    r"UPDATE (?:ONLY )?(\w+)\b(?:(?!\"\"\"|UPDATE ).)*?(clock_timestamp|gen_random_uuid|random)\(\)", re.DOTALL
)


@pytest.fixture(scope="module")
def catalogue(django_db_setup: None, django_db_blocker) -> Catalogue:
    with django_db_blocker.unblock():
        return read_catalogue()


def test_every_table_is_placed_and_citus_accepts_the_schema(catalogue: Catalogue):
    assert list(faults(catalogue)) == []


def test_a_new_table_without_a_placement_is_a_fault(catalogue: Catalogue):
    more = replace(catalogue, tables={**catalogue.tables, "turns_new": Table("turns_new", (), (), ())})
    assert list(faults(more)) == ["turns_new is not placed: add it to placement.py."]


def test_a_placement_of_a_missing_table_is_a_fault(catalogue: Catalogue):
    fewer = replace(catalogue, tables={name: t for name, t in catalogue.tables.items() if name != "tour_stop"})
    assert "tour_stop has a placement, but does not exist." in list(faults(fewer))


def test_a_foreign_key_to_another_node_is_a_fault(catalogue: Catalogue):
    key = ForeignKey("new", "turns_record", "gateway_gatewaykey", ("key_id",), ("id",))
    more = replace(catalogue, foreign_keys=(*catalogue.foreign_keys, key))
    assert list(faults(more)) == ["The foreign key turns_record(key_id) to gateway_gatewaykey leads to another node."]


@pytest.mark.parametrize(
    ("table", "fault"),
    [
        ("turns_turn", "The trigger new of turns_turn uses audit_entry, which is elsewhere."),
        ("accounts_user", "The trigger new of accounts_user would run on every node."),
    ],
)
def test_a_trigger_that_reaches_another_node_is_a_fault(catalogue: Catalogue, table: str, fault: str):
    new = Trigger("new", "writes", each_row=True, on_truncate=False)
    changed = replace(catalogue.tables[table], triggers=(*catalogue.tables[table].triggers, new))
    functions = {**catalogue.functions, "writes": "PERFORM calls();", "calls": "INSERT INTO audit_entry VALUES (1)"}
    more = replace(catalogue, tables={**catalogue.tables, table: changed}, functions=functions)
    assert list(faults(more)) == [fault]


def test_a_32_bit_id_in_the_schema_of_a_project_is_a_fault(catalogue: Catalogue):
    table = catalogue.tables["turns_toolclaim"]
    wider = replace(table, columns=(*table.columns, Column("n", "integer", numbered=True, generated=False)))
    more = replace(catalogue, tables={**catalogue.tables, table.name: wider})
    assert list(faults(more)) == ["turns_toolclaim.n is numbered on the node of a project and is too narrow for it."]


def test_the_path_from_a_row_to_its_project_uses_keys_of_the_other_table(catalogue: Catalogue):
    for name, by in PROJECT.items():
        if by == NOTHING or name == by.table:
            continue
        columns = {column.name: column.type for column in catalogue.tables[name].columns}
        assert columns[by.column] == "uuid" if not by.table or by.table.startswith("turns_") else columns[by.column]
        if by.table:
            assert any(unique.columns == (by.key,) for unique in catalogue.tables[by.table].unique), name


def test_omitted_foreign_keys_exist(catalogue: Catalogue):
    left = {(key.table, column) for key in catalogue.foreign_keys if is_left_out(key) for column in key.columns}
    assert left >= LEFT_OUT
    assert {column for _, column in left - LEFT_OUT} == {"project_id"}
    assert all(table in catalogue.tables for table in REFERENCE)


def test_widened_columns_exist_and_are_narrow(catalogue: Catalogue):
    types = {(t.name, column.name): column.type for t in catalogue.tables.values() for column in t.columns}
    assert {types[place] for place in WIDENED} == {"integer"}


def test_sharding_by_rows_would_need_the_project_in_most_tables_and_keys(catalogue: Catalogue):
    needed = by_rows(catalogue)
    assert {"turns_record", "turns_attempt", "turns_node"} <= {*needed.without_column}
    assert "turns_record (turn_id, seq)" in needed.unique_without
    assert "turns_turn (node_id) to turns_node" in needed.keys_without
    assert "turns_turn.count_inserted" in needed.statement_triggers


def test_statements_that_update_project_rows_use_neither_clock_nor_randomness_with_two_exceptions():
    found = {
        (match[1], path.name)
        for path in Path("dashboard").rglob("*.py")
        if "migrations" not in path.parts
        for match in UPDATE.finditer(path.read_text())
        if match[1] in PROJECT
    }
    # The page about scaling names these two.
    assert found == {("turns_cohort", "cohort_cleanup.py"), ("webhooks_delivery", "delivery_queue.py")}
