"""What follows from a user being saved: the person's row, and a role that says the same as the flags."""

from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F
from django.db.models.signals import post_save
from django.dispatch import receiver

from gpulayer_site.accounts.models import Person
from workers.roles import Role

_FLAGS = frozenset({"is_staff", "is_superuser"})


def role_by_flags(user: User) -> Role:
    """The role that Django's two flags speak of; they cannot tell viewers from submitters."""
    return Role.ADMINISTRATOR if user.is_superuser else Role.OPERATOR if user.is_staff else Role.SUBMITTER


def flags_of(role: Role) -> dict[str, bool]:
    """The flags that say the same as the role."""
    return {"is_staff": role.reaches(Role.OPERATOR), "is_superuser": role.reaches(Role.ADMINISTRATOR)}


@receiver(post_save, sender=User, dispatch_uid="gpulayer-person")
def know_person(instance: User, raw: bool, update_fields: frozenset[str] | None, **_: Any) -> None:
    """Make the person's row with the user's; after that the role follows flags that were changed.

    A role that changes ends the person's sessions.
    """
    if raw or (update_fields is not None and not _FLAGS & set(update_fields)):
        return
    role = role_by_flags(instance)
    with transaction.atomic():
        person, _created = Person.objects.get_or_create(user=instance, defaults={"role": role})
        if flags_of(Role(person.role)) != flags_of(role):
            Person.objects.filter(pk=person.pk).update(role=role, epoch=F("epoch") + 1)
            person.refresh_from_db(fields=["role", "epoch"])
    # Whoever holds this user sees the row as it is now; a freshly made row has linked itself.
    instance.person = person
