"""The report on stop reasons that may hide truncation."""
