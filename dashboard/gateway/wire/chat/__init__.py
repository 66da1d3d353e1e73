"""Chat completions: OpenAI's dialect, which most clients speak."""
