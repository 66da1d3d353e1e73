"""Messages, Anthropic's dialect, for its clients and for coding agents."""
