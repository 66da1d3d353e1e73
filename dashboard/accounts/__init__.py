"""Who may come in: people by session (password, one-time link, token), programs by `Authorization: Bearer`.

`middleware.AccessMiddleware` stands before every address and `websocket.AccessStack` before every socket; `access`
holds the one table that says how a stranger is answered where. A secret is stored as its SHA-256 only.
"""
