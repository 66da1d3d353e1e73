"""Two turns side by side: requests, paths, answers and numbers."""
