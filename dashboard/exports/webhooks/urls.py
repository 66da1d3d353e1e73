"""`/webhooks/…`: webhooks and their deliveries."""

from django.urls import path

from dashboard.exports.webhooks import views

app_name = "webhooks"

urlpatterns = [
    path("", views.index, name="index"),
    path("<uuid:webhook_id>", views.webhook, name="webhook"),
    path("<uuid:webhook_id>/enable", views.enable, name="enable"),
    path("<uuid:webhook_id>/disable", views.disable, name="disable"),
    path("<uuid:webhook_id>/secret", views.new_secret, name="new_secret"),
    path("<uuid:webhook_id>/delete", views.delete, name="delete"),
    path("<uuid:webhook_id>/test", views.test, name="test"),
    path("deliveries/<uuid:delivery_id>", views.delivery, name="delivery"),
    path("deliveries/<uuid:delivery_id>/again", views.again, name="again"),
]
