"""What a package uses and only one above it has."""

import sys

import pytest
from django.core.exceptions import ImproperlyConfigured

from dashboard.platform.provided import Provided


def test_a_provided_service_is_returned_and_can_be_replaced():
    number = Provided[int]("a number")
    number.provide(1)
    assert number.value == 1
    number.provide(2)
    assert number.value == 2


def test_a_missing_service_is_named():
    with pytest.raises(ImproperlyConfigured, match="No installed app provides a number"):
        _ = Provided[int]("a number").value


def test_the_installed_apps_provide_everything_declared():
    loaded = [module for name, module in sys.modules.items() if name.startswith("dashboard.")]
    declared = {id(one): one for module in loaded for one in vars(module).values() if isinstance(one, Provided)}
    assert len(declared) >= 6
    assert all(one.value is not None for one in declared.values())
