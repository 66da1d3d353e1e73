"""`python -m tests.architecture > docs/architecture.md`"""

import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
django.setup()

from tests.architecture.page import page  # noqa: E402 (its models need the settings)

sys.stdout.write(page())
