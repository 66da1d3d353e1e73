from tests.dashboard.runtime.conftest import data_dir, environment, started_before, up

__all__ = ["data_dir", "environment", "started_before", "up"]
