"""Messages and answers in the form of each convention.

parts               OpenTelemetry GenAI: messages of parts, as attributes, JSON texts or log events
indexed_attributes  older GenAI and OpenLLMetry: `gen_ai.prompt.0.content`; OpenInference:
                    `llm.input_messages.0.message…`
event_messages      older GenAI: an event for each message, on the span or in the log
vercel              the Vercel AI SDK's prompt, text and tool calls
provider_json       an answer of a provider that stands whole in an attribute, read by its own codec
stream_pieces       the pieces of a stream, as MLflow keeps them
account_merge       what several of them tell of one call
"""
