"""The timeline without its rows: counts by facet and over time, saved views, and bulk actions.

facets, histogram  counts by value and over time; `rollups` hold them by minute
selection          the turns that were chosen; `services` act on them
retention          which turns go, and when; `pruning`, `node_cleanup` and `cohort_cleanup` remove them
lint               stop reasons that may hide a truncation
runs               calls that go on from one another's answers
"""
