"""One call from its turn to its last byte: driven, asked upstream, handed on."""
