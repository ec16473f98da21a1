"""Labels as agents state them; those of operators are never touched here."""

from __future__ import annotations

from collections.abc import Mapping

from workers.models import Label, LabelSource


def sync_labels(stated: Mapping[int, Mapping[str, str]]) -> set[int]:
    """Make the agents' labels of these workers be exactly the stated ones; return the workers that changed."""
    rows = list(Label.objects.filter(worker__in=stated, source=LabelSource.AGENT))
    stored = {(row.worker_id, row.key): row for row in rows}
    wanted = {(worker, key): value for worker, labels in stated.items() for key, value in labels.items()}
    gone = [row for place, row in stored.items() if place not in wanted]
    changed = [row for place, row in stored.items() if place in wanted and row.value != wanted[place]]
    new = [
        Label(worker_id=worker, key=key, value=value, source=LabelSource.AGENT)
        for (worker, key), value in wanted.items()
        if (worker, key) not in stored
    ]
    for row in changed:
        row.value = wanted[row.worker_id, row.key]
    if gone:
        Label.objects.filter(pk__in=[row.pk for row in gone]).delete()
    Label.objects.bulk_update(changed, ["value"])
    Label.objects.bulk_create(new)
    return {row.worker_id for row in (*gone, *changed, *new)}
