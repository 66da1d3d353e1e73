"""Two turns side by side: requests, paths, answers, figures."""
