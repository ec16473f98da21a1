"""Let the database itself refuse reservations that keep the same device, or the same worker, at the same time."""

from django.db import migrations, models
from django.db.models import Q

NAME = "reservations_do_not_overlap"
TOLD = "somebody else has reserved this at that time"

# Django stores instants as texts of one form in UTC here, so that they compare as times do.
OVERLAP = """
other.worker_id = NEW.worker_id AND other.id <> {key} AND other.cancelled_at IS NULL
AND (other.ends_at IS NULL OR other.ends_at > NEW.starts_at)
AND (NEW.ends_at IS NULL OR NEW.ends_at > other.starts_at)
AND ({length}(other.devices) = 0 OR {length}(NEW.devices) = 0 OR EXISTS (
  SELECT 1 FROM {each}(other.devices) AS theirs, {each}(NEW.devices) AS own WHERE theirs.value = own.value))
"""
WATCHED = "worker_id, devices, starts_at, ends_at, cancelled_at"

# A new row has no number yet before it is inserted.
SQLITE = """
CREATE TRIGGER {name}_{event} BEFORE {when} ON scheduler_reservation WHEN NEW.cancelled_at IS NULL
BEGIN SELECT RAISE(ABORT, '{told}') FROM scheduler_reservation AS other WHERE {overlap} LIMIT 1; END
"""
# Whoever comes second waits for the worker's row, and sees then what the first one has written.
POSTGRESQL_FUNCTION = """
CREATE FUNCTION gpulayer_reservations_apart() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.cancelled_at IS NULL THEN
    PERFORM 1 FROM workers_worker WHERE id = NEW.worker_id FOR NO KEY UPDATE;
    IF EXISTS (SELECT 1 FROM scheduler_reservation AS other WHERE {overlap}) THEN
      RAISE EXCEPTION '{told}' USING ERRCODE = 'exclusion_violation', CONSTRAINT = '{name}';
    END IF;
  END IF;
  RETURN NEW;
END $$
"""
POSTGRESQL = """
CREATE TRIGGER {name} BEFORE INSERT OR UPDATE OF {watched} ON scheduler_reservation
FOR EACH ROW EXECUTE FUNCTION gpulayer_reservations_apart()
"""


def keep_apart(apps, schema_editor):
    """Create the triggers in the database's own words."""
    if schema_editor.connection.vendor == "postgresql":
        overlap = OVERLAP.format(key="NEW.id", length="jsonb_array_length", each="jsonb_array_elements")
        schema_editor.execute(POSTGRESQL_FUNCTION.format(overlap=overlap, told=TOLD, name=NAME), params=None)
        schema_editor.execute(POSTGRESQL.format(name=NAME, watched=WATCHED), params=None)
        return
    for event, when, key in (("made", "INSERT", "-1"), ("changed", f"UPDATE OF {WATCHED}", "NEW.id")):
        overlap = OVERLAP.format(key=key, length="json_array_length", each="json_each")
        schema_editor.execute(
            SQLITE.format(name=NAME, event=event, when=when, told=TOLD, overlap=overlap), params=None
        )


def let_overlap(apps, schema_editor):
    """Drop them again."""
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(f"DROP TRIGGER {NAME} ON scheduler_reservation", params=None)
        schema_editor.execute("DROP FUNCTION gpulayer_reservations_apart()", params=None)
        return
    for event in ("made", "changed"):
        schema_editor.execute(f"DROP TRIGGER {NAME}_{event}", params=None)


class Migration(migrations.Migration):
    """After the tables are as they stay: SQLite drops the triggers of a table that it makes anew."""

    dependencies = [("scheduler", "0005_teams")]
    operations = [
        migrations.AddIndex(
            model_name="reservation",
            index=models.Index(fields=["holder"], condition=Q(cancelled_at__isnull=True), name="reservation_by_holder"),
        ),
        migrations.RunPython(keep_apart, let_overlap),
    ]
