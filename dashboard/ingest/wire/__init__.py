"""Decodes and encodes OTLP/HTTP bodies, protobuf and JSON. Pure.

bodies     a body → its spans or log events, and what of it is refused; the response, in the form of the request
protobuf   the same from protobuf's messages, whose fields are counted before they are parsed
json_body  the same from JSON, whose ids are hexadecimal
values     attribute values, within bounds of depth and number
"""
