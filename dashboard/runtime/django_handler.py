"""Django's ASGI application, which lets go of an answer once it was sent, or once its client has gone."""

from typing import Any

import django
from django.core.handlers.asgi import ASGIHandler


class LeanHandler(ASGIHandler):
    """A request and its answer refer to each other, by the tasks that work on them: their memory becomes free when
    Python looks for such rings, which may be minutes later. The content is the most of it, and counted nowhere by then.
    """

    async def send_response(self, response: Any, send: Any) -> None:
        try:
            await super().send_response(response, send)
        finally:
            if not response.streaming:
                response.content = b""


def django_application() -> LeanHandler:
    """The application, with all apps loaded."""
    django.setup(set_prefix=False)
    return LeanHandler()
