"""Django's PostgreSQL backend over the embedded server; Django finds `base` by its name."""
