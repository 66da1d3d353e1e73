"""Links that show one turn to people without an account."""
