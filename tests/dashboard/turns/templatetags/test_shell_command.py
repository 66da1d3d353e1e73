"""Commands on pages: whatever is there to paste, a fresh shell finds it."""

import re
import subprocess
from html import unescape
from pathlib import Path

import pytest
from django.test import Client

from dashboard.accounts.models import User
from dashboard.platform.environment import CHECKOUT
from dashboard.turns.templatetags.shell_command import shell_command
from tests.dashboard.pages import page
from tests.together import together

TEMPLATES = CHECKOUT / "templates"
DOCUMENTS = [CHECKOUT / "README.md", CHECKOUT / "CONTRIBUTING.md", *(CHECKOUT / "docs").rglob("*.md")]
#: Of a page, what is there to paste: from `cd` on to the name of the command of manage.py.
PASTED = re.compile(r"(cd [^<]*? manage\.py) ([a-z_]+)")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("address", "name"), [("/tour", "ask"), ("/", "ask"), ("/backtests/track-record", "calibrate")]
)
def test_a_fresh_shell_finds_the_command_of_a_page(browser: Client, address: str, name: str):
    found = PASTED.search(unescape(page(browser, address)))
    assert found
    assert found[2] == name
    shell = ["env", "-i", "HOME=/nonexistent", "PATH=/usr/bin:/bin", "sh", "-c", f"{found[0]} --help"]
    told = subprocess.run(shell, cwd="/", capture_output=True, text=True, check=False)
    assert (told.returncode, told.stderr) == (0, "")
    assert f"usage: manage.py {name}" in told.stdout


@pytest.mark.django_db
def test_users_who_may_not_start_turns_see_no_folder_of_the_machine(client: Client):
    client.force_login(User.objects.create_user("wilma"))
    for address in ("/tour", "/", "/backtests/track-record"):
        assert str(CHECKOUT) not in page(client, address)


def test_the_command_names_the_data_folder_and_a_python_inside_of_the_checkout():
    inside = str(CHECKOUT / ".venv/bin/python")
    assert shell_command({}, python=inside) == f"cd {CHECKOUT} && .venv/bin/python manage.py"
    chosen = shell_command({"WHYSTOP_DATA_DIR": "/srv/my data"}, python="/usr/bin/python3")
    assert chosen == f"cd {CHECKOUT} && WHYSTOP_DATA_DIR='/srv/my data' /usr/bin/python3 manage.py"


def test_no_template_has_a_command_that_only_a_shell_in_the_right_folder_finds():
    bare = re.compile(r"<code[^>]*>(?:python3? )?manage\.py [a-z_]+ [^<]*")
    found = {path.name: bare.findall(path.read_text()) for path in TEMPLATES.rglob("*.html")}
    assert not {name: commands for name, commands in found.items() if commands}


@together
@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(CHECKOUT)))
def test_commands_of_documents_name_the_python_that_the_readme_sets_up(path: Path):
    blocks = re.findall(r"```(?:sh|bash)\n(.*?)```", path.read_text(), re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if "manage.py" in line and line[:1] != "#"]
    assert not [line for line in lines if ".venv/bin/python manage.py" not in line]
