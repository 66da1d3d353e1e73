"""The frames as AWS's own clients read them: lengths and checksums by the specification, not by our reader."""

import struct
import zlib

from dashboard.simulator.dialects.bedrock import event_message


def test_a_message_has_prelude_headers_and_payload_each_with_a_checksum() -> None:
    message = event_message("messageStop", b'{"stopReason":"end_turn"}')
    length, header_length, prelude_crc = struct.unpack_from(">III", message)
    assert length == len(message)
    assert prelude_crc == zlib.crc32(message[:8])
    assert struct.unpack(">I", message[-4:])[0] == zlib.crc32(message[:-4])
    assert message[12 + header_length : -4] == b'{"stopReason":"end_turn"}'
    assert message[12:].startswith(b"\x0b:event-type\x07\x00\x0bmessageStop")
