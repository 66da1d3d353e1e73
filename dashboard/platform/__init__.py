"""What all other packages need: environment, database, outgoing requests, ids and custom fields.

environment        the variables of the environment, read once; `errors` is why it does not start
                   `sign_in_provider`, `email_server`, `trusted_proxies` and `cross_origin` are read from it;
                   `email_backend` sends within a limit of time
database           DATABASE_URL as Django's settings; `embedded_database` is the server of the data folder (`postgres`),
                   which Django reaches through `embedded_backend`
statement_timeout  how long a statement may take, by who asks; `replica` takes reads that may be late
db_threads         the database from an event loop, in threads that `fair_queue` shares out
ids, fields        UUIDv7, and columns for text that Postgres refuses; `strict_json` reads JSON from outside
number_bounds      how forms name the bounds of numbers
egress             where calls may go, and with which keys
notifications      ids of what changed, to open pages
process_identity   which of several processes this one is; `process_limits` are what one sets for itself
local_client       whether a client is a program on this machine
provided           what a package uses and only one above it has
secret_key, logs   secrets that are made once, and what is logged
bytes_cache        a cache that is bounded in bytes; `object_weight` says how many any value takes
url_patterns       addresses with and without a last slash
"""
