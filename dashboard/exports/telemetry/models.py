"""Where turns are sent as spans and metrics, and which of them wait."""

from typing import ClassVar

from django.core.exceptions import ValidationError
from django.db import models

from dashboard.agents.change_tracking import keep_changes
from dashboard.agents.validation import base_url_valid, key_may_go
from dashboard.platform.ids import new_id


class Destination(models.Model):
    """One OTLP/HTTP endpoint. Its counters count turns."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey("agents.Project", on_delete=models.PROTECT, editable=False)
    name = models.CharField(max_length=80)
    endpoint = models.CharField(
        max_length=2000,
        validators=[base_url_valid],
        help_text="The base URL. Whystop appends /v1/traces and /v1/metrics, as for OTEL_EXPORTER_OTLP_ENDPOINT.",
    )
    key_env = models.CharField(
        "API key variable",
        max_length=200,
        blank=True,
        default="",
        help_text="The name of the environment variable that holds the key. Leave empty for no key.",
    )
    key_header = models.CharField(
        "API key header",
        max_length=100,
        default="authorization",
        help_text="“authorization” sends the key as a bearer token. Any other header sends the key alone.",
    )
    content = models.BooleanField(
        "send content", default=False, help_text="Also send messages, answers, and tool arguments and results."
    )
    metrics = models.BooleanField("send metrics", default=True, help_text="Send the metrics of each batch, as deltas.")
    enabled = models.BooleanField(default=True)  #: whether turns are sent
    from_environment = models.BooleanField(default=False, editable=False)  #: WHYSTOP_OTLP_ENDPOINT says it

    sent = models.PositiveBigIntegerField(default=0, editable=False)  #: turns the endpoint accepted
    refused = models.PositiveBigIntegerField(default=0, editable=False)  #: by the endpoint, for good
    dropped = models.PositiveBigIntegerField(default=0, editable=False)  #: the queue was full
    last_sent_at = models.DateTimeField(null=True, editable=False)  #: when the endpoint last accepted a batch
    failures = models.PositiveIntegerField(default=0, editable=False)  #: since something was sent
    fault = models.TextField(default="", editable=False)  #: of the last failure or refusal, in a sentence
    fault_at = models.DateTimeField(null=True, editable=False)  #: when that failure was
    next_at = models.DateTimeField(auto_now_add=True)  #: of the next batch, or until when one is under way

    class Meta:
        ordering: ClassVar = ["name"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["project", "name"], name="telemetry_destination_name")]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        """A key goes where `WHYSTOP_KEY_NAMES` lets it go, and nowhere else."""
        key_may_go("key_env", self.key_env, self.endpoint)
        if not self.key_header.isascii() or not self.key_header.replace("-", "").isalnum():
            raise ValidationError({"key_header": "It must be the name of a header, such as authorization or api-key."})


class Queued(models.Model):
    """A turn that ended and has not been sent yet. Written by the database only."""

    destination = models.ForeignKey(Destination, on_delete=models.CASCADE, db_index=False)
    turn_id = models.UUIDField()

    class Meta:
        indexes: ClassVar = [models.Index(fields=["destination", "id"], name="telemetry_queued_line")]

    def __str__(self) -> str:
        return f"{self.turn_id} for {self.destination_id}"


#: What sending writes is no change of the settings.
keep_changes(
    Destination, but=("sent", "refused", "dropped", "last_sent_at", "failures", "fault", "fault_at", "next_at")
)
