"""A turn as a file: export, and import with verification."""
