"""Let the database refuse to remove events and seals, except by retention's door; seals say which event is which."""

from django.db import migrations, models

TABLES = ("workers_event", "workers_trailseal")

# SQLite makes the table of seals anew for its new column, and the trigger of the old one goes with it.
# INSERT OR REPLACE removes a row without asking the trigger of deletions: a number that is taken is refused.
SQLITE = (
    "DROP TRIGGER IF EXISTS {table}_written_once",
    """
    CREATE TRIGGER {table}_written_once BEFORE UPDATE ON {table}
    BEGIN SELECT RAISE(ABORT, '{table} rows are written once'); END
    """,
    """
    CREATE TRIGGER {table}_kept BEFORE DELETE ON {table} WHEN gpulayer_removing() = 0
    BEGIN SELECT RAISE(ABORT, '{table} rows are removed by retention alone'); END
    """,
    """
    CREATE TRIGGER {table}_not_replaced BEFORE INSERT ON {table} WHEN EXISTS (SELECT 1 FROM {table} WHERE id = NEW.id)
    BEGIN SELECT RAISE(ABORT, '{table} rows are written once'); END
    """,
)
SQLITE_BACK = ("DROP TRIGGER {table}_kept", "DROP TRIGGER {table}_not_replaced")
FUNCTION = """
CREATE FUNCTION gpulayer_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF coalesce(current_setting('gpulayer.removing', true), '') <> 'on' THEN
        RAISE EXCEPTION '% rows are removed by retention alone', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
    END IF;
    IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
    RETURN NULL;
END $$
"""
POSTGRESQL = (
    "CREATE TRIGGER {table}_kept BEFORE DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION gpulayer_kept()",
    "CREATE TRIGGER {table}_not_emptied BEFORE TRUNCATE ON {table} FOR EACH STATEMENT EXECUTE FUNCTION gpulayer_kept()",
)
POSTGRESQL_BACK = ("DROP TRIGGER {table}_kept ON {table}", "DROP TRIGGER {table}_not_emptied ON {table}")


def keep(apps, schema_editor):
    """Create the triggers in the database's own words."""
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(FUNCTION, params=None)
    _each(schema_editor, POSTGRESQL, SQLITE)


def let_go(apps, schema_editor):
    """Drop them again."""
    _each(schema_editor, POSTGRESQL_BACK, SQLITE_BACK)
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP FUNCTION gpulayer_kept()", params=None)


def _each(schema_editor, postgresql, sqlite):
    for table in TABLES:
        for statement in postgresql if schema_editor.connection.vendor == "postgresql" else sqlite:
            schema_editor.execute(statement.format(table=table), params=None)


class Migration(migrations.Migration):
    """After seals are there."""

    dependencies = [("workers", "0006_people_ask")]
    operations = [
        migrations.AddField(
            model_name="trailseal",
            name="marks",
            field=models.BinaryField(default=bytes, editable=False),
        ),
        migrations.RunPython(keep, let_go),
    ]
