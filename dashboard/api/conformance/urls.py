"""The address beside the API's own."""

from django.urls import path

from dashboard.api.conformance.views import openwop

urlpatterns = [path(".well-known/openwop", openwop)]
