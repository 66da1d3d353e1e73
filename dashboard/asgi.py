"""The name under which ASGI servers find the application (`dashboard.asgi:application`)."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")

from dashboard.runtime.asgi_application import application

__all__ = ["application"]
