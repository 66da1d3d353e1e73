"""Code that dialects share, in the order in which it processes an answer.

codec                          what every codec does, unless its dialect does otherwise
framing, event_stream          bytes to events, objects or AWS messages, in any chunking
text_events                    events that differ in one text alone, read without parsing each
stream_decoder                 the decoders: framed payloads, given to the dialect's own answer
untrusted_json                 JSON that is slightly wrong or cut; values whose shape is not trusted
tool_calls                     the tool calls of an answer, their arguments read strictly
content_blocks, block_answer   an answer of content blocks
stop_reasons                   what a stop word means
reason_tracker                 which sighting of it wins
response_assembly              parts and reason to a `ChatResponse`
error_bodies, error_kinds      a failed call: its body, its kind; then by its form:
error_objects, named_errors    OpenAI's error objects; errors that name themselves (Anthropic, AWS)
retry_after                    how long a provider asks to be left alone
request_messages               what a request may hold of the history, and how a cut answer is asked to go on
"""
