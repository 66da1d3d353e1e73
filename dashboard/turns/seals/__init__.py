"""Evidence that nothing stored was changed: hash chains, signed seals, the signing key."""
