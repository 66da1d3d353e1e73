from tests.dashboard.agents.conftest import connection, project

__all__ = ["connection", "project"]
