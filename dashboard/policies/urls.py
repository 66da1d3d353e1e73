"""`/policies/…`: policies looked at, written, compared, activated, attached, kept as a file; the ledger; shadows."""

from django.urls import path

from dashboard.policies import action_views, draft_views, views
from dashboard.policies.predictions import live_views

app_name = "policies"

urlpatterns = [
    path("", views.index, name="index"),
    path("ledger", views.ledger, name="ledger"),
    path("ledger/turns", views.stops, name="stops"),
    path("changes", views.changes, name="changes"),
    path("new", draft_views.new, name="new"),
    path("<uuid:policy_id>/change", draft_views.change, name="change"),
    path("file", action_views.export, name="export"),
    path("import", action_views.take_in, name="import"),
    path("attach", action_views.attach, name="attach"),
    path("attachments/<uuid:attachment_id>/detach", action_views.detach, name="detach"),
    path("versions/<uuid:version_id>", views.version, name="version"),
    path("versions/<uuid:version_id>/activate", action_views.activate, name="activate"),
    path("versions/<uuid:version_id>/shadow", action_views.shadow, name="shadow"),
    path("activations/<uuid:activation_id>/withdraw", action_views.withdraw, name="withdraw"),
    path("shadows/<uuid:shadow_id>/stop", action_views.shadow_stop, name="shadow_stop"),
    path("shadows/<uuid:shadow_id>/live", live_views.of_shadow, name="shadow_live"),
    path("shadows/<uuid:shadow_id>/promote", action_views.promote, name="promote"),
    path("<uuid:policy_id>", views.show, name="show"),
    path("<uuid:policy_id>/diff", views.diff, name="diff"),
]
