"""Evidence that stored turns are unchanged: hash chains, signed seals, the signing key."""
