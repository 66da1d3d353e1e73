"""The reference is made from the source, is current, and leaves no public name without words."""

import pytest

from tests.reference import glossary
from tests.reference.page import page
from tests.reference.sources import MODULES, ROOT, module_of
from tests.together import together

PAGE = ROOT / "docs" / "reference" / "library.md"


def test_the_reference_in_the_docs_is_current():
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python -m tests.reference > docs/reference/library.md"


def test_the_glossary_in_the_docs_is_current():
    written = (ROOT / "docs" / "reference" / "glossary.md").read_text(encoding="utf-8")
    assert written == glossary.page(), "run: python -m tests.reference.glossary > docs/reference/glossary.md"


@together
@pytest.mark.parametrize("name", MODULES)
def test_every_public_name_of_the_library_has_a_docstring(name):
    module = module_of(name)
    assert module.words
    assert module.wordless == []


@together
@pytest.mark.parametrize("name", MODULES)
def test_every_field_and_every_member_has_a_description(name):
    assert [field for named in module_of(name).names for field in named.unexplained] == []


def test_every_importable_module_is_in_the_reference():
    inner = {
        "schema_violations",
        "cuts",
        "observed_verdict",
        "truncation_text",
        "completed_verdict",
        "error_text",
        "schema_size",
        "json_mode",
        "json_values",
        "values",
        "number_format",
        "quoting",
        "overlaps",
        "remedies",
        "reason_text",
        "usage",
        "machine",
        "criteria",
        "replay",
        "providers",
        "__init__",
    }
    top = {path.stem for path in (ROOT / "agentcore").glob("*.py")} - inner
    assert top <= {name.removeprefix("agentcore.") for name in MODULES}
