"""`/sign-in/`, `/sign-out/`, `/account/…`; included at the root of the site."""

from django.urls import path

from dashboard.accounts import openid_views, two_factor_views, views

app_name = "accounts"

urlpatterns = [
    path("sign-in/", views.sign_in, name="sign_in"),
    path("sign-in/code/", two_factor_views.sign_in_code, name="sign_in_code"),
    path("sign-in/oidc/", openid_views.begin, name="oidc"),
    path("sign-in/oidc/return/", openid_views.finish, name="oidc_return"),
    path("sign-out/", views.sign_out, name="sign_out"),
    path("account/", views.account, name="account"),
    path("account/password/", views.password_change, name="password_change"),
    path("account/two-factor/", two_factor_views.setup, name="two_factor"),
    path("account/two-factor/begin/", two_factor_views.setup_begin, name="two_factor_begin"),
    path("account/two-factor/codes/", two_factor_views.recovery_codes, name="recovery_codes"),
    path("account/two-factor/remove/", two_factor_views.remove, name="two_factor_remove"),
    path("account/tokens/", views.token_create, name="token_create"),
    path("account/tokens/<int:token_id>/revoke/", views.token_revoke, name="token_revoke"),
]
