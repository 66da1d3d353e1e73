"""The simulator: an HTTP provider with the OpenAI chat-completions wire format, whose models behave by their names.

Theory of operation. Nothing is kept between requests: `asked` reads a request, and what the conversation already holds
tells how far the model has come. A model is a row of the table in `behaviours`, which gives a script: a text of `texts`
or `endless`, calls, and an ending. `speaking` turns the script into pieces of one token each, goes on where the last
answer was cut, and stops when the budget is spent. `wire` renders the pieces as one body or as server-sent events,
`delivery` keeps the model's pace, `exchange` is the HTTP side, `app` holds the addresses.

Start it with any ASGI server: `uvicorn --lifespan off dashboard.simulator.app:app`. It imports no Django.

- `WHYSTOP_SIM_TOKEN_MS`: the pace in milliseconds per token (default 8); `sim-slow` has its own, 40.
- request header `x-sim-delay-ms`: the pace of one answer, of any model.
- request header `x-whystop-attempt` (1-based) or `x-stainless-retry-count` (0-based): tells `sim-flaky` which attempt
  this is. Without either it turns callers away in the even seconds of the clock.
"""
