#!/usr/bin/env python
"""The door to everything that runs: `manage.py up`, `worker`, `migrate`, …"""

import gc
import os
import select
import sys

READER_GONE = 141  #: what a shell says of a command that SIGPIPE ended


def main() -> None:
    # What is imported stays. To search it for garbage, over and over while it grows, takes a fifth of a start.
    gc.disable()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
    from django.core.management import execute_from_command_line

    from dashboard.agents.schema_validation.judge_overload import JudgesBusy, JudgingSpent
    from dashboard.platform.errors import StartError
    from dashboard.platform.postgres import PostgresError
    from dashboard.runtime.database_version import look_before
    from dashboard.runtime.terminal_output import guard_terminal, quiet_pool

    guard_terminal()
    os.umask(os.umask(0o022) | 0o022)  # nobody else may change what is written, such as the static files
    command = sys.argv[1] if len(sys.argv) > 1 else ""
    quiet_pool(command)
    try:
        look_before(command)
        execute_from_command_line(sys.argv)
        sys.stdout.flush()
    except (PostgresError, StartError) as error:
        # Written for the person who typed the command: nothing to add.
        sys.exit(str(error))
    except BrokenPipeError:
        if not _reader_is_gone():
            raise
        sys.exit(READER_GONE)
    except (Exception, JudgesBusy, JudgingSpent) as error:
        _end_by(error)


def _end_by(error: BaseException) -> None:
    """Say in a sentence what ended the command, where it was something outside."""
    from dashboard.runtime.command_faults import fault_of

    fault = fault_of(error, sys.argv[1] if len(sys.argv) > 1 else "")
    if fault is None:
        raise error
    sys.stderr.write(f"{fault.sentence}\n")
    sys.exit(fault.code)


def _reader_is_gone() -> bool:
    """Whether nobody reads any more what is printed here (`… | head`): that is no error, and the rest is dropped."""
    printed = select.poll()
    printed.register(sys.stdout.fileno(), 0)
    if not printed.poll(0):
        return False
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return True


if __name__ == "__main__":
    main()
