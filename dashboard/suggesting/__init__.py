"""The limit that would have let a turn finish, as one typed value for pages, API and commands."""
