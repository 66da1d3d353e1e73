"""Giving a saved view another name."""

from django.core.exceptions import ValidationError

from dashboard.accounts.models import User
from dashboard.timeline.models import SavedView


def saved_view_rename(*, view: SavedView, by: User, name: str, shared: bool) -> SavedView:
    """Raises `ValidationError`, in words, where the view is somebody else's or the name is taken or none."""
    if view.owner_id != by.pk:
        raise ValidationError(f"The view “{view.name}” is {view.owner.get_username()}'s; only they can rename it.")
    view.name, view.shared = name.strip(), shared
    if not view.name:
        raise ValidationError("A view needs a name.")
    others = SavedView.objects.filter(project_id=view.project_id, owner=by, name=view.name).exclude(pk=view.pk)
    if others.exists():
        raise ValidationError(f"You have another view “{view.name}” already; choose another name.")
    view.full_clean(validate_constraints=False)
    view.save(update_fields=["name", "shared"])
    return view
