"""Chat Completions, OpenAI's dialect that most clients speak."""
