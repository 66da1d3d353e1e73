"""Before the server says that it is ready, all is loaded that a first request would load on the loop."""

import subprocess
import sys
from pathlib import Path

LOADED = """
import os, sys
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
import django
django.setup()
from dashboard.runtime.warm_up import ON_EVERY_PAGE, load_pages
load_pages(ON_EVERY_PAGE)
from django.template.loader import get_template
from django.urls import resolve, reverse
had = set(sys.modules)
for path in ("/", "/sign-in/", "/admin/", "/gateway/keys", "/api/v1/turns"):
    resolve(path)
reverse("projects:members")
get_template("base.html")
print(sorted(set(sys.modules) - had))
"""
ROOT = Path(__file__).parents[3]


def test_urls_and_templates_import_nothing_at_the_first_request():
    ran = subprocess.run([sys.executable, "-c", LOADED], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
