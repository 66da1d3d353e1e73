"""`/projects/…`: the projects that one may enter, and the members of the current one."""

from django.urls import path

from dashboard.configuration import project_views

app_name = "projects"

urlpatterns = [
    path("projects/", project_views.index, name="index"),
    path("projects/switch/", project_views.switch, name="switch"),
    path("projects/rename/", project_views.rename, name="rename"),
    path("projects/members/", project_views.members, name="members"),
    path("projects/members/add/", project_views.member_add, name="member_add"),
    path("projects/members/<int:member_id>/", project_views.member_change, name="member_change"),
    path("projects/members/<int:member_id>/remove/", project_views.member_remove, name="member_remove"),
]
