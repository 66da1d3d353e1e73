"""What a package uses and only a package above it has, such as the tools that an agent's form lists.

The package below declares it with its type; the one above hands it in as the program starts (`AppConfig.ready`). So no
import leads upward.
"""

from typing import Generic, TypeVar

from django.core.exceptions import ImproperlyConfigured

T = TypeVar("T")


class Provided(Generic[T]):
    """One value, most often a function. `name`: what it is, for the error where nobody provides it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._values: list[T] = []

    def provide(self, value: T) -> None:
        """Called once, by the package above."""
        self._values[:] = [value]

    @property
    def value(self) -> T:
        """Raises `ImproperlyConfigured` where the app that provides it is not in INSTALLED_APPS, or not ready yet."""
        if not self._values:
            raise ImproperlyConfigured(f"No installed app provides {self._name}.")
        return self._values[0]
