"""Decodes and encodes OTLP/HTTP bodies, protobuf and JSON. Pure.

bodies            a body → its spans or log events, and what of it is refused
protobuf          the same from protobuf's messages
field_count       whether a protobuf body holds too many fields, before it is parsed
json_body         the same from JSON, whose ids are hexadecimal
values            attribute values, within bounds of depth and number
export_responses  success, partial success and errors, in the form of the request
"""
