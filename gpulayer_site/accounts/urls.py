"""Signing in and out, and one's own profile."""

from django.urls import path

from gpulayer_site.accounts import views

urlpatterns = [
    path("signin", views.signin, name="signin"),
    path("signout", views.signout, name="signout"),
    path("profile", views.profile, name="profile"),
    path("profile/tokens", views.token_create, name="token-create"),
    path("profile/tokens/<int:pk>/revoke", views.token_revoke, name="token-revoke"),
    path("profile/theme", views.theme_set, name="theme"),
    path("profile/zone", views.zone_set, name="zone"),
    path("profile/sessions/end", views.sessions_end, name="sessions-end"),
    path("profile/password", views.password_set, name="password-set"),
]
