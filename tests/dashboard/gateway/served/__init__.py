"""The gateway as clients meet it: over HTTP, served as `up` serves it, with a simulator behind it."""
