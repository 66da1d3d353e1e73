"""`/sign-in/`, `/sign-out/`, `/account/…`; included at the root of the site."""

from django.urls import path

from dashboard.accounts import views

app_name = "accounts"

urlpatterns = [
    path("sign-in/", views.sign_in, name="sign_in"),
    path("sign-out/", views.sign_out, name="sign_out"),
    path("account/", views.account, name="account"),
    path("account/password/", views.password_change, name="password_change"),
    path("account/tokens/", views.token_create, name="token_create"),
    path("account/tokens/<int:token_id>/revoke/", views.token_revoke, name="token_revoke"),
]
