"""Signing in and out, one's own profile, and the people and teams there are."""

from django.urls import path

from gpulayer_site.accounts import views, views_people, views_teams

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
    path("people", views_people.people_list, name="people"),
    path("people/new", views_people.person_new, name="person-new"),
    path("people/<int:pk>", views_people.person, name="person"),
    path("people/<int:pk>/role", views_people.person_role, name="person-role"),
    path("people/<int:pk>/teams", views_people.person_teams, name="person-teams"),
    path("people/<int:pk>/active", views_people.person_active, name="person-active"),
    path("people/<int:pk>/password", views_people.person_password, name="person-password"),
    path("people/<int:pk>/unix", views_people.person_unix, name="person-unix"),
    path("people/<int:pk>/unlock", views_people.person_unlock, name="person-unlock"),
    path("people/<int:pk>/sessions/end", views_people.person_sessions_end, name="person-sessions-end"),
    path("people/<int:pk>/tokens/<int:token_pk>/revoke", views_people.person_token_revoke, name="person-token-revoke"),
    path("teams", views_teams.team_list, name="teams"),
    path("teams/<int:pk>", views_teams.team, name="team"),
    path("teams/<int:pk>/name", views_teams.team_rename, name="team-rename"),
    path("teams/<int:pk>/join", views_teams.team_join, name="team-join"),
    path("teams/<int:pk>/leave/<int:user_pk>", views_teams.team_leave, name="team-leave"),
    path("teams/<int:pk>/delete", views_teams.team_delete, name="team-delete"),
]
