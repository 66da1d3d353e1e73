"""Sessions that have expired are erased: whoever holds a token may make any number of them."""

from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.utils import timezone

from dashboard.accounts import sessions
from dashboard.runtime import worker

pytestmark = pytest.mark.django_db


def test_the_worker_deletes_only_expired_sessions():
    now = timezone.now()
    Session.objects.create(session_key="old", session_data="", expire_date=now - timedelta(seconds=1))
    Session.objects.create(session_key="new", session_data="", expire_date=now + timedelta(days=1))
    sessions.sweep()
    assert [one.session_key for one in Session.objects.all()] == ["new"]
    assert sessions.sweep in [task[1] for task in worker._upkeep()]
