"""What ends a measurement."""

from django.core.management.base import CommandError


class BenchError(CommandError):
    """A measurement that cannot go on. Its sentence is for whoever started it, so no traceback is printed."""
