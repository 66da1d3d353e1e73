"""A process that imports one file for a server, within limits of memory and processor time.

Its standard input is a line of JSON with what is asked, and then the file. It answers in lines of JSON: one for each
outcome, or one for a log as a whole, and a last one that says that there are no more.
"""

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, BinaryIO

from dashboard.platform.process_limits import limit_process

if TYPE_CHECKING:
    from dashboard.ingest.turn_files.zip_import import FileOutcome

MOST_MEMORY = 1024 * 1024 * 1024  #: bytes, beyond what the process has before it reads the file
MOST_SECONDS = 100  #: of processor time
TOO_MUCH_MEMORY = f"It takes more than {MOST_MEMORY // 2**20:,} MiB of memory to read, and was not imported."
_POLITE = 5  #: how much it stands back for what serves callers
_DONE = {"done": True}


def main() -> None:
    answers = _own_output()
    os.nice(_POLITE)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
    import django

    django.setup()
    # All that is loaded belongs to what the process has before.
    from dashboard.agents.schema_validation import validator  # noqa: F401
    from dashboard.ingest.logs import server_import  # noqa: F401
    from dashboard.ingest.turn_files import zip_import  # noqa: F401
    from dashboard.platform.statement_timeout import working_as

    limit()
    working_as("job")
    for answer in lines_of(sys.stdin.buffer):
        answers.write(answer)
        answers.flush()


def lines_of(given: BinaryIO) -> Iterator[bytes]:
    """What this process answers to what it is `given`."""
    from dashboard.agents.schema_validation.validator import judging_budget

    asked = json.loads(given.readline())
    with _in_project(asked["project"]), judging_budget():
        for said in _said(asked, given.read()):
            yield json.dumps(said).encode() + b"\n"


def _in_project(project_id: str) -> AbstractContextManager[None]:
    from dashboard.agents.current_project import working_in
    from dashboard.agents.models import Project

    return working_in(Project.objects.get(pk=project_id))


def _own_output() -> BinaryIO:
    """The standard output for answers alone: what else is printed goes where errors go."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return answers


def limit() -> None:
    """Bound this process, as far as the system can."""
    limit_process(memory=MOST_MEMORY, seconds=MOST_SECONDS)


def _said(asked: Mapping[str, Any], content: bytes) -> Iterable[dict[str, Any]]:
    from django.core.exceptions import ValidationError

    from dashboard.accounts.models import User
    from dashboard.agents.schema_validation.judge_overload import BUSY, JudgesBusy, JudgingSpent
    from dashboard.ingest.logs.server_import import log_found, log_told
    from dashboard.ingest.turn_files.zip_import import bundle_outcomes, faults_of, is_bundle, outcome_of

    by, name = User.objects.filter(pk=asked["by"]).first(), asked["log"]
    options = {"by": by, "unverified": asked["unverified"]}
    try:
        found = None if name is None else log_found(content, is_sure=not asked["bundles"])
        if found is not None:
            yield {"log": log_told(found, name, by=by, dry=asked["dry"])}
        elif asked["bundles"] and is_bundle(content):
            yield {"bundle": True}
            yield from map(_told, bundle_outcomes(content=content, **options))
        else:
            yield _told(outcome_of("", content, **options))
        yield _DONE
    except ValidationError as error:
        yield {"refused": faults_of(error)}
    except JudgesBusy:
        yield {"busy": BUSY}
    except JudgingSpent as spent:
        yield {"refused": [("", str(spent))]}
    except MemoryError:
        yield {"refused": [("", TOO_MUCH_MEMORY)]}


def _told(outcome: "FileOutcome") -> dict[str, Any]:
    made = outcome.made
    if made is None:
        return {"name": outcome.name, "faults": outcome.faults}
    return {
        "name": outcome.name, "turn": str(made.turn.id), "fresh": made.fresh, "doubt": made.doubt,
        "missing": made.missing,
    }  # fmt: skip
