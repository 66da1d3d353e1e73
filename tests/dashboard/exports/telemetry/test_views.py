"""Where turns are sent, by page and in the admin."""

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.utils import timezone

from dashboard.accounts.models import User
from dashboard.agents.selectors import project_default
from dashboard.exports.telemetry.models import Destination
from tests.dashboard.api.test_timeline import make_turns
from tests.dashboard.exports.telemetry.conftest import DestinationOf
from tests.dashboard.recording_server import Receiver

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_page_shows_what_was_sent_and_what_was_not(browser: Client, destination_of: DestinationOf):
    destination_of(sent=1234, dropped=7, failures=1, fault="The destination answered 503.", fault_at=timezone.now())
    make_turns("a", status="completed")
    html = browser.get("/telemetry/").content.decode()
    for words in ("<b>1,234</b> turns sent", "<b>1</b> waiting", "7</b> dropped", "The destination answered 503."):
        assert words in html


def test_an_admin_creates_a_destination_in_the_admin(receiver: Receiver):
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    given = {"name": "tempo", "endpoint": receiver.address, "key_header": "authorization", "enabled": "on"}
    assert client.post("/admin/telemetry/destination/add/", given).status_code == 302
    assert Destination.objects.get().project == project_default()
    wrong = client.post("/admin/telemetry/destination/add/", {**given, "name": "b", "key_env": "WHYSTOP_SECRET_KEY"})
    assert "is not among the variables that may be sent" in wrong.content.decode()


def test_admins_may_add_destinations_by_their_role():
    admins = Permission.objects.filter(group__name="admin").values_list("codename", flat=True)
    assert {"add_destination", "add_webhook"} <= set(admins)
