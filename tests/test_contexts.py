"""What the test client keeps of a page: nothing but the answer, where a test does not ask for more."""

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db


def test_a_page_is_rendered_as_in_production_unless_a_test_reads_its_context(request: pytest.FixtureRequest):
    assert Client().get("/sign-in/").context is None
    request.getfixturevalue("contexts")
    assert Client().get("/sign-in/").context["csrf_token"]
