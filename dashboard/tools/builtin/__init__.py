"""The built-in tools, which are safe by default. Importing this package registers them."""

from dashboard.tools.builtin import calculator, current_time, read_file, search_documents

__all__ = ["calculator", "current_time", "read_file", "search_documents"]
