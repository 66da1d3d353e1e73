"""The tools that come along: useful, and safe by default. Importing this registers them."""

from dashboard.tools.builtin import calculator, current_time, read_file, search_documents

__all__ = ["calculator", "current_time", "read_file", "search_documents"]
