"""Refusals that were there before they had numbers are numbered by when each first occurred."""

from datetime import timedelta
from uuid import UUID

import pytest
from django.utils import timezone

from dashboard.ingest.models import Refusal
from dashboard.ingest.refusals import refusals_note
from tests.migrating import migrate_all, migrate_back

pytestmark = pytest.mark.django_db(transaction=True)
NOW, SENDER = timezone.now(), UUID(int=7)


def test_rows_are_numbered_by_their_first_time_and_new_ones_follow() -> None:
    migrate_back("ingest", "0004_refusals")
    try:
        for number in range(4):
            refusals_note(SENDER, SENDER, {f"Reason {number}.": 1}, at=NOW + timedelta(seconds=number))
        refusals_note(
            SENDER, SENDER, {"Reason 0.": 1}, at=NOW + timedelta(days=1)
        )  # its row is the last of the table now
    finally:
        migrate_all()
    refusals_note(SENDER, SENDER, {"Reason 4.": 1}, at=NOW)
    found = Refusal.objects.order_by("id").values_list("id", "why")
    assert list(found) == [(place, f"Reason {place - 1}.") for place in range(1, 6)]
