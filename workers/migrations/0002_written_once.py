"""Let the database itself refuse to change facts and events: they are written once."""

from django.db import migrations

TABLES = ("workers_workerfacts", "workers_event")

SQLITE = """
CREATE TRIGGER {table}_written_once BEFORE UPDATE ON {table}
BEGIN SELECT RAISE(ABORT, '{table} rows are written once'); END
"""
POSTGRESQL_FUNCTION = """
CREATE FUNCTION gpulayer_written_once() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION '% rows are written once', TG_TABLE_NAME USING ERRCODE = 'restrict_violation'; END $$
"""
POSTGRESQL = """
CREATE TRIGGER {table}_written_once BEFORE UPDATE ON {table}
FOR EACH ROW EXECUTE FUNCTION gpulayer_written_once()
"""


def refuse_updates(apps, schema_editor):
    """Create the triggers in the database's own words."""
    vendor = schema_editor.connection.vendor
    if vendor == "postgresql":
        schema_editor.execute(POSTGRESQL_FUNCTION, params=None)
    statement = POSTGRESQL if vendor == "postgresql" else SQLITE
    for table in TABLES:
        schema_editor.execute(statement.format(table=table), params=None)


def allow_updates(apps, schema_editor):
    """Drop them again."""
    postgresql = schema_editor.connection.vendor == "postgresql"
    for table in TABLES:
        schema_editor.execute(f"DROP TRIGGER {table}_written_once" + (f" ON {table}" if postgresql else ""), params=None)
    if postgresql:
        schema_editor.execute("DROP FUNCTION gpulayer_written_once()", params=None)


class Migration(migrations.Migration):
    """After the tables are there."""

    dependencies = [("workers", "0001_initial")]
    operations = [migrations.RunPython(refuse_updates, allow_updates)]
