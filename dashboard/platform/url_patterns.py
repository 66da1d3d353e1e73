"""URL patterns that several packages have in common."""

from collections.abc import Callable
from typing import Any

from django.urls import URLPattern, path


def either(route: str, view: Callable[..., Any], name: str) -> list[URLPattern]:
    """An address that answers at once with and without a last slash; links are without."""
    return [path(f"{route}/", view), path(route, view, name=name)]
