"""Messages: Anthropic's dialect, which its clients and coding agents speak."""
