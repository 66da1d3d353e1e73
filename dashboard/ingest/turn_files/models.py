"""What is remembered of a turn that came as a file."""

from django.conf import settings
from django.db import models

from dashboard.platform.fields import ExactJSONField
from dashboard.turns.models import Turn
from dashboard.turns.origins import Signature

CHANGED = "The file was changed after it was signed"


class Origin(models.Model):
    """The source of an imported turn. The database deletes it with the turn (migration 0001)."""

    turn = models.OneToOneField(
        Turn, on_delete=models.CASCADE, primary_key=True, db_constraint=False, related_name="origin"
    )
    original_id = models.UUIDField()  #: the turn's id in the file
    sha256 = models.CharField(max_length=64, db_index=True)  #: of the file's `turn`
    exported_at = models.DateTimeField()
    core_version = models.TextField()  #: that wrote the file
    imported_at = models.DateTimeField()
    imported_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    signature = models.TextField(choices=Signature, default=Signature.UNSIGNED)  #: when the file came
    public_key = models.TextField(blank=True, default="")  #: of the installation that signed so; empty: none did
    installation = models.TextField(blank=True, default="")  #: under which name its key was known then
    doubt = models.TextField(blank=True, default="")  #: why it was stored as one that does not verify; empty: it does
    #: What the file says and no row here can: `{parent_id, policy}`.
    told = ExactJSONField(default=dict)

    @property
    def speaks_against(self) -> str:
        """Why the turn does not verify, whatever its rows say, in a sentence; empty where nothing does."""
        return self.doubt or (CHANGED if self.signature == Signature.BROKEN else "")

    def __str__(self) -> str:
        return f"{self.turn_id} from a file of {self.exported_at:%Y-%m-%d %H:%M}"
