"""`/gateway/…`: calls, keys, aliases."""

from django.urls import path

from dashboard.gateway import views

app_name = "gateway"

urlpatterns = [
    path("", views.calls, name="calls"),
    path("keys", views.keys, name="keys"),
    path("keys/revoke", views.keys_revoke_own, name="keys_revoke_own"),
    path("keys/revoke-left", views.keys_revoke_left, name="keys_revoke_left"),
    path("keys/<uuid:key_id>/revoke", views.key_revoke, name="key_revoke"),
    path("aliases", views.alias_create, name="alias_create"),
    path("aliases/<uuid:alias_id>/delete", views.alias_delete, name="alias_delete"),
]
