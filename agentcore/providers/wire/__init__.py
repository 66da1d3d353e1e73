"""What dialects have in common: framing of bytes, evidence for a stop reason, arguments of calls, kinds of errors."""
