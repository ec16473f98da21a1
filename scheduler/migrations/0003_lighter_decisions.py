import django.db.models.deletion
from django.db import migrations, models

ONE_FIRST = models.UniqueConstraint(
    fields=["job"], condition=models.Q(kept="first"), name="one_first_decision_per_job"
)


class Migration(migrations.Migration):
    dependencies = [
        ("scheduler", "0002_execution"),
    ]

    operations = [
        # On PostgreSQL the index of this constraint would be taken for the foreign key's, and dropped with it.
        migrations.RemoveConstraint(model_name="decision", name=ONE_FIRST.name),
        migrations.AlterField(
            model_name="decision",
            name="job",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="decisions",
                to="scheduler.job",
            ),
        ),
        migrations.AlterField(
            model_name="decision",
            name="pass_row",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="decisions",
                to="scheduler.schedulingpass",
            ),
        ),
        migrations.AddConstraint(model_name="decision", constraint=ONE_FIRST),
    ]
