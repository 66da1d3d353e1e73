"""Django's templates, whose text can always be sent: half a character, which a record may hold, is U+FFFD there."""

from typing import Any

from django.http import HttpRequest
from django.template.backends.django import DjangoTemplates, Template
from django.utils.safestring import SafeString

from dashboard.platform.fields import storable_text


class SendableTemplate(Template):
    """What a page, a swap and a push are made by."""

    def render(self, context: dict[str, Any] | None = None, request: HttpRequest | None = None) -> str:
        rendered = super().render(context, request)
        try:
            rendered.encode()
        except UnicodeEncodeError:
            return SafeString(storable_text(rendered))
        return rendered


class SendableTemplates(DjangoTemplates):
    """The engine of these."""

    def from_string(self, template_code: str) -> SendableTemplate:
        return _sendable(super().from_string(template_code))

    def get_template(self, template_name: str) -> SendableTemplate:
        return _sendable(super().get_template(template_name))


def _sendable(template: Template) -> SendableTemplate:
    return SendableTemplate(template.template, template.backend)
