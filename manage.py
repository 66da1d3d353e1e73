#!/usr/bin/env python
"""The door to everything that runs: `manage.py up`, `worker`, `migrate`, …"""

import gc
import os
import sys


def main() -> None:
    # What is imported stays. To search it for garbage, over and over while it grows, takes a fifth of a start.
    gc.disable()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
    from django.core.management import execute_from_command_line

    from dashboard.postgres import PostgresError
    from dashboard.runtime.errors import StartError

    try:
        execute_from_command_line(sys.argv)
    except (PostgresError, StartError) as error:
        # Written for the person who typed the command: nothing to add.
        sys.exit(str(error))


if __name__ == "__main__":
    main()
