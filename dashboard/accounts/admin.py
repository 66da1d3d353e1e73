"""Users in the admin. Tokens are made and revoked on the account page of the one they belong to."""

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin

from dashboard.accounts.models import User

admin.site.register(User, UserAdmin)
