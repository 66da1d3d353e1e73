"""Django's PostgreSQL backend for the embedded server; Django finds `base` by its name."""
