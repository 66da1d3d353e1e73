"""Share links: show one turn to people without an account."""
