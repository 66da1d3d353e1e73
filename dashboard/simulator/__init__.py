"""The simulator: an HTTP provider for every supported dialect. The name of a model says how it behaves.

Theory of operation. Nothing is kept between requests: a module of `dialects` reads a request into what is
`request_values`, and what the conversation already holds tells how far the model has come. A model is a row of the
table in `model_table`, which knows no dialect and gives a script: a text of `texts`, calls, and an
ending. `script_player` turns the script into pieces of one token each, goes on where the last answer was cut, and stops
when the budget is spent. The dialect's table has its word for each ending, its wire renders the pieces as one body or
as a stream; an ending that it has no word for becomes the error its vendor would send. `delivery` keeps the model's
pace, `http_exchange` is the HTTP side, `app` brings them together. `cut_calls` has the forms of a cut tool call.
`servers` has the models that do what real servers do beside answering: echo a prefill or refuse it, close a connection
they promised to keep, begin a JSON grammar anew, leave out the token counts. `scripts` is the exception: models whose
answers somebody writes down call by call, and who remember their calls (docs/reference/conformance-seam.md).

| dialect            | address                                                      |
|--------------------|--------------------------------------------------------------|
| `openai`           | `/v1/chat/completions`                                       |
| `openai_responses` | `/v1/responses`                                              |
| `anthropic`        | `/v1/messages`                                               |
| `gemini`           | `/v1beta/models/{model}:generateContent`, `:streamGenerateContent`, `:countTokens` |
| `bedrock`          | `/model/{model}/converse`, `/converse-stream` (no signature is asked for) |
| `ollama`           | `/api/chat`                                                  |
| `cohere`           | `/v2/chat`                                                   |
| `llama`            | `/llama/v1/chat/completions`                                 |

Start it with any ASGI server: `uvicorn --lifespan off dashboard.simulator.app:app`. It imports no Django.

- `WHYSTOP_SIM_TOKEN_MS`: the pace in milliseconds per token (default 8); `sim-slow` has its own, 40.
- request header `x-sim-delay-ms`: the pace of one answer, of any model.
- request header `x-whystop-attempt` (1-based) or `x-stainless-retry-count` (0-based): tells `sim-flaky` which attempt
  this is. Without either it turns callers away in the even seconds of the clock.
"""
