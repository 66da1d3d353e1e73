"""Tools that come from elsewhere, and the texts that tools look into.

McpServer      a program that offers tools by the Model Context Protocol, and what it offered when it was last asked
TurnDocument   a text a turn was started with; it goes when its turn goes (the database sees to that, migration 0001)
"""

from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models

from dashboard.agents.continuation_settings import NOT_A_CHOICE
from dashboard.agents.named_models import Named
from dashboard.agents.validation import api_key_env_valid, key_may_go
from dashboard.platform.fields import ExactJSONField, ShownTextField
from dashboard.tools import validation

MAX_SECONDS = 600.0


class McpServer(Named):
    """One MCP server: its address, or the command that starts it. Its key is read from the environment at each call."""

    name = models.CharField(
        max_length=24,
        validators=[validation.server_name_valid],
        help_text="Letters, digits and hyphens. Agents select its tools as name.tool.",
    )
    transport = models.CharField(
        max_length=8,
        default="http",
        choices=[("http", "http: a server at a URL"), ("stdio", "stdio: a command that Whystop runs")],
        error_messages=NOT_A_CHOICE,
    )
    url = models.CharField(
        "address",
        max_length=500,
        blank=True,
        default="",
        help_text="The URL of its streamable HTTP endpoint, such as http://127.0.0.1:8000/mcp.",
    )
    command = models.CharField(
        max_length=500, blank=True, default="", help_text="The program to run, without a shell. Used only with stdio."
    )
    args = models.JSONField(
        "arguments",
        default=list,
        blank=True,
        validators=[validation.args_valid],
        help_text='A JSON list of strings, such as ["--root", "/srv"]. Used only with stdio.',
    )
    key_env = models.CharField(
        "API key variable",
        max_length=128,
        blank=True,
        default="",
        validators=[api_key_env_valid],
        help_text="The name of the environment variable that holds the key. Never enter the key itself. http: the key "
        "is sent in the header below. stdio: the variable is passed to the program. Leave empty for no key.",
    )
    key_header = models.CharField(
        "API key header",
        max_length=64,
        default="Authorization",
        validators=[validation.header_valid],
        help_text="Authorization sends “Bearer” and the key. Other headers send the key alone. Used only with http.",
    )
    timeout = models.FloatField(
        default=30.0,
        validators=[MinValueValidator(0.1), MaxValueValidator(MAX_SECONDS)],
        help_text="The time limit of one tool call in seconds, including the time to connect.",
    )
    enabled = models.BooleanField(default=True, help_text="Agents can use the tools of this server.")
    #: `[{name, description, schema, idempotent, read_only}]`, as it offered them at `refreshed_at`.
    tools = ExactJSONField(default=list, blank=True, editable=False)
    refreshed_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta(Named.Meta):
        verbose_name = "MCP server"

    def clean(self) -> None:
        super().clean()
        allowed = settings.MCP_STDIO or not self.enabled  # so that one that is not allowed can be switched off
        faults: dict[str, Any] = validation.transport_faults(
            transport=self.transport, url=self.url, command=self.command, stdio_allowed=allowed
        )
        if faults:
            raise ValidationError(faults)
        key_may_go("key_env", self.key_env, self.url if self.transport == "http" else "")


class TurnDocument(models.Model):
    """A text that was sent with a turn, for its tools to search."""

    pk = models.CompositePrimaryKey("turn", "n")
    turn = models.ForeignKey("turns.Turn", on_delete=models.CASCADE, db_constraint=False, related_name="documents")
    n = models.PositiveIntegerField()  #: from 0
    name = ShownTextField()
    text = ShownTextField(blank=True)

    class Meta:
        ordering = ["turn", "n"]
