"""The form of an MCP server."""

from typing import Any

from django import forms
from django.conf import settings

from dashboard.agents.forms import belong_to_current_project
from dashboard.agents.json_fields import read_fields_strictly
from dashboard.platform.form_errors import FieldErrors
from dashboard.platform.number_bounds import with_bounds_of_model
from dashboard.tools.models import McpServer

STDIO_WORDS = {
    True: "Commands are allowed (WHYSTOP_MCP_STDIO=1). Anyone who can edit this form can run programs on the "
    "machine that Whystop runs on.",
    False: "Commands are not allowed. To allow them, start Whystop with WHYSTOP_MCP_STDIO=1. Anyone who can edit this "
    "form can then run programs on the machine that Whystop runs on.",
}


class McpServerForm(FieldErrors, forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = McpServer
        fields = ("name", "transport", "url", "command", "args", "key_env", "key_header", "timeout", "enabled")
        widgets = {"args": forms.Textarea(attrs={"rows": 3, "class": "vLargeTextField mono"})}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        with_bounds_of_model(self)
        read_fields_strictly(self)
        belong_to_current_project(self.instance)
        if "transport" in self.fields:
            self.fields["transport"].help_text = STDIO_WORDS[settings.MCP_STDIO]
