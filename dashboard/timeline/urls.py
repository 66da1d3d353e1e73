"""`/`, the timeline; `/timeline/…`, what belongs to it; and the tags of one turn."""

from django.urls import path

from dashboard.timeline import bulk_views, saved_view_views, views

app_name = "timeline"

urlpatterns = [
    path("", views.timeline, name="timeline"),
    path("timeline/facets", views.facets, name="facets"),
    path("timeline/chart", views.chart, name="chart"),
    path("timeline/drops", views.drops, name="drops"),
    path("timeline/views", saved_view_views.index, name="views"),
    path("timeline/views/<uuid:view_id>/rename", saved_view_views.rename, name="rename"),
    path("timeline/views/<uuid:view_id>/delete", saved_view_views.delete, name="delete"),
    path("timeline/views/<uuid:view_id>/opens", saved_view_views.opens, name="opens"),
    path("timeline/tag", bulk_views.tag, name="tag"),
    path("turns/<uuid:turn_id>/tags", bulk_views.tags, name="tags"),
    path("timeline/erase", bulk_views.erase, name="erase"),
]
