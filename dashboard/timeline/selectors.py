"""Reads of the timeline beside its rows, by the names the pages know them under."""

from dashboard.timeline.facets import facets
from dashboard.timeline.histogram import STACKS, histogram
from dashboard.timeline.saved_views import saved_views
from dashboard.timeline.values import MOST_COUNTED, Bucket, Facet, FacetValue, Histogram

__all__ = ["MOST_COUNTED", "STACKS", "Bucket", "Facet", "FacetValue", "Histogram", "facets", "histogram", "saved_views"]
