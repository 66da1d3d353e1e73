"""How the product runs: its processes, the server, the database, health and request limits."""
