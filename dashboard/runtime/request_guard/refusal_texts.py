"""What a connection is told that ends before its request has reached an application."""

from dashboard.runtime.request_guard.resource_limits import HEAD_BYTES, HEAD_FIELDS, PIPELINED

FULL = "This server has reached its maximum number of connections. Try again in a moment."
FULL_ADDRESS = "Your address has reached its maximum number of connections. Close some, or try again in a moment."
LONG_HEAD = f"The address and the header fields of a request may have {HEAD_BYTES:,} bytes together. Send fewer."
MANY_FIELDS = f"A request may have {HEAD_FIELDS} header fields. Send fewer."
PIPELINED_TOO_MANY = f"At most {PIPELINED} requests of a connection may wait for their answers. Send fewer at once."
SLOW_HEAD = "The head of the request did not come in time. Send it at once."
NO_REQUEST = "Invalid HTTP request received."
SLOW_BODY = "The body of the request came too slowly. Send it again, over a faster connection."
