"""The timeline beside its rows: counts by facet and over time, saved views, and what is done to many turns at once."""
