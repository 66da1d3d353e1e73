"""`/policies/…`: policies looked at, written, compared, activated, attached, kept as a file; the ledger; shadows."""

from django.urls import path

from dashboard.policies import draft_views, policy_actions, views
from dashboard.policies.predictions import live_views

app_name = "policies"

urlpatterns = [
    path("", views.index, name="index"),
    path("ledger", views.ledger, name="ledger"),
    path("ledger/turns", views.stops, name="stops"),
    path("changes", views.changes, name="changes"),
    path("new", draft_views.new, name="new"),
    path("<uuid:policy_id>/change", draft_views.change, name="change"),
    path("file", policy_actions.export, name="export"),
    path("import", policy_actions.take_in, name="import"),
    path("attach", policy_actions.attach, name="attach"),
    path("attachments/<uuid:attachment_id>/detach", policy_actions.detach, name="detach"),
    path("versions/<uuid:version_id>", views.version, name="version"),
    path("versions/<uuid:version_id>/activate", policy_actions.activate, name="activate"),
    path("versions/<uuid:version_id>/shadow", policy_actions.shadow, name="shadow"),
    path("activations/<uuid:activation_id>/withdraw", policy_actions.withdraw, name="withdraw"),
    path("shadows/<uuid:shadow_id>/stop", policy_actions.shadow_stop, name="shadow_stop"),
    path("shadows/<uuid:shadow_id>/live", live_views.of_shadow, name="shadow_live"),
    path("shadows/<uuid:shadow_id>/promote", policy_actions.promote, name="promote"),
    path("<uuid:policy_id>", views.show, name="show"),
    path("<uuid:policy_id>/diff", views.diff, name="diff"),
]
