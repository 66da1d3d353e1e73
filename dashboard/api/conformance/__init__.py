"""Support for external conformance tests of envelopes (spec: rfc-0033-envelope-completion).

`capabilities` is what it promises, served at `/.well-known/openwop` and `/api/v1/capabilities`. The rest is the seam
through which such a program makes the simulator answer as a check needs it, and reads what each call was asked with:
`schemas` are its shapes, `script_validation` makes of a body what the simulator plays, `routes` are its addresses.
The seam is closed unless WHYSTOP_TEST_SEAM=1. docs/reference/conformance-seam.md has an example.
"""
