"""Authentication: people by session (password, one-time link, token), programs by `Authorization: Bearer`.

`middleware.AccessMiddleware` stands before every address and `websocket.AccessStack` before every socket; `access`
holds the one table that says how a stranger is answered where. A secret is stored as its SHA-256 only.

`two_factor` holds the second factor of a password, `openid_connect` the identity provider, and `external_users` the
users that it names; `sessions` opens a browser's session for all ways in.

`projects` says which projects somebody may enter. `project_middleware` sets the one that a request is about, and
`project_services` holds projects and their members, whose pages are in `configuration`. `audit` is the log of changes,
and `signals` what other packages are told.
"""
