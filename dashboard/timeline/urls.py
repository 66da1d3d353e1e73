"""`/`, the timeline; `/timeline/…`, what belongs to it; and the tags of one turn."""

from django.urls import path

from dashboard.timeline import bulk_pages, view_pages, views

app_name = "timeline"

urlpatterns = [
    path("", views.timeline, name="timeline"),
    path("timeline/facets", views.facets, name="facets"),
    path("timeline/chart", views.chart, name="chart"),
    path("timeline/drops", views.drops, name="drops"),
    path("timeline/views", view_pages.index, name="views"),
    path("timeline/views/<uuid:view_id>/rename", view_pages.rename, name="rename"),
    path("timeline/views/<uuid:view_id>/delete", view_pages.delete, name="delete"),
    path("timeline/views/<uuid:view_id>/opens", view_pages.opens, name="opens"),
    path("timeline/tag", bulk_pages.tag, name="tag"),
    path("turns/<uuid:turn_id>/tags", bulk_pages.tags, name="tags"),
    path("timeline/erase", bulk_pages.erase, name="erase"),
]
