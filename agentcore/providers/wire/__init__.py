"""What dialects have in common, in the order in which an answer meets it.

codec                               what every codec does, unless its dialect does otherwise
framing, event_stream               bytes to events, objects or AWS messages, in any chunking
text_events                         events that differ in one text alone, read without parsing each
event_answers, object_answers       the decoders: framed payloads, given to the dialect's own answer
json_text, shapes                   JSON that is slightly wrong or cut; values whose shape is not trusted
calls, content_blocks, block_answer the parts of an answer: tool calls, content blocks
tool_arguments, text_pieces         arguments read strictly; a text in pieces
words, reason_tracker, settled      what a stop word means; which sighting wins; parts and reason to a `ChatResponse`
error_bodies, error_kinds           a failed call: its body, its kind; then by its form:
error_objects, named_errors         OpenAI's error objects; errors that name themselves (Anthropic, AWS)
retry_after                         how long a provider asks to be left alone
history, continuing                 what a request may hold of the history; how a cut answer is asked to go on
"""
