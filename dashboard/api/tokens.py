"""API tokens: made for a program, with no more scopes than it needs, and revoked."""

from datetime import datetime
from typing import Annotated, Any

from django.core.exceptions import ValidationError
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from ninja import Router, Status
from ninja.errors import HttpError
from pydantic import BaseModel, Field, Strict

from dashboard.accounts import selectors, services
from dashboard.accounts.models import ApiToken
from dashboard.accounts.scopes import ALL, MEANINGS, Scope
from dashboard.api.callers import caller
from dashboard.api.list_pages import PagedArray, rows_array
from dashboard.api.problems import aware
from dashboard.api.request_base import Body, Line, Moment

router = Router(tags=["tokens"])

SCOPES = "; ".join(f"`{scope}`: {meaning[0].lower()}{meaning[1:]}" for scope, meaning in MEANINGS.items()) + "."
MORE = "Your token does not have the scope “{}”, so it cannot grant it. It has: {}."


class NewToken(Body):
    """A new token for your own account."""

    name: Line = Field(description="The program that uses it.", max_length=80, min_length=1, examples=["ci"])
    scopes: list[Annotated[Scope, Strict(False)]] | None = Field(
        default=None,
        description=f"{SCOPES} Default: all that you have.",
        min_length=1,
        max_length=20,
        examples=[["read", "run"]],
    )
    expires_at: Moment | None = Field(default=None, description="Default: never.")


class Token(BaseModel):
    """A token, without its secret."""

    id: int
    name: str = Field(examples=["ci"])
    prefix: str = Field(description="The first characters of the secret.", examples=["why_3mZq"])
    scopes: list[Scope] = Field(description=SCOPES, examples=[["read", "run"]])
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None = Field(description="To the minute.")


class MadeToken(Token):
    """A new token with its secret."""

    secret: str = Field(description="Shown only once. Only its hash is stored.", examples=["why_3mZqExampleSecret"])


@router.post("/tokens", response={201: MadeToken}, summary="Create a token")
def token_create(request: HttpRequest, body: NewToken) -> Status[dict[str, Any]]:
    """Only this response contains the secret. A token that is created with another token ends when that one is
    revoked, expires no later, and has no further scopes."""
    parent = selectors.token_by(request)
    scopes = body.scopes or list(ALL if parent is None else map(Scope, parent.scopes))
    missing = [scope for scope in scopes if parent is not None and scope not in parent.scopes]
    if parent is not None and missing:
        raise ValidationError({"scopes": MORE.format(missing[0], ", ".join(parent.scopes))})
    try:
        token, secret = services.api_token_create(
            body.name, user=caller(request), scopes=scopes, expires_at=aware(body.expires_at), parent=parent
        )
    except services.TokenEndedError as error:
        raise HttpError(401, str(error)) from error
    return Status(201, {**_shown(token), "secret": secret})


@router.get("/tokens", response=list[Token], summary="List tokens")
def token_list(request: HttpRequest, response: HttpResponse, page: PagedArray) -> list[dict[str, Any]]:
    """Your own valid tokens, newest first."""
    return [
        _shown(token)
        for token in rows_array(request, response, selectors.api_tokens_of(caller(request)), page, order="-id")
    ]


@router.post("/tokens/{token_id}/revoke", response=Token, summary="Revoke a token")
def token_revoke(request: HttpRequest, token_id: int) -> dict[str, Any]:
    """The token and all tokens created with it stop working. A token may revoke itself and the tokens created with it.
    404 if it was revoked before."""
    by = selectors.token_by(request)
    within = Q() if by is None else Q(pk=by.pk) | Q(parent=by)
    token: ApiToken = selectors.api_tokens_of(caller(request)).filter(within).get(pk=token_id)
    services.api_token_revoke(user=caller(request), token_id=token_id)
    return _shown(token)


def _shown(token: ApiToken) -> dict[str, Any]:
    return {name: getattr(token, name) for name in Token.model_fields}
