"""What a project owns by a name that is its own: connections, policies, agents, MCP servers."""

from django.core.exceptions import ValidationError
from django.db import models

from agentcore.quoting import quoted
from dashboard.agents import validation
from dashboard.platform.ids import new_id


class Named(models.Model):
    """What a project owns by a name that is its own."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey("agents.Project", on_delete=models.PROTECT, editable=False)
    name = models.CharField(max_length=64, validators=[validation.name_valid])
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        abstract = True
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["project", "name"], name="%(app_label)s_%(class)s_name")]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        """The name is free in its project; said on the field, where the constraint would say it of the whole."""
        others = type(self)._default_manager.filter(project=self.project_id, name=self.name).exclude(pk=self.pk)
        if others.exists():
            word = self._meta.verbose_name
            raise ValidationError({"name": f"The name {quoted(self.name)} is taken by another {word}; choose another."})
