from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("scheduler", "0003_lighter_decisions"),
    ]

    operations = [
        migrations.CreateModel(
            name="Upkeep",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("began_at", models.DateTimeField()),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                ("complete", models.BooleanField(default=False)),
                ("removed", models.JSONField(default=dict)),
                ("swept_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "verbose_name_plural": "upkeep",
                "constraints": [models.CheckConstraint(condition=models.Q(("id", 1)), name="one_upkeep")],
            },
        ),
    ]
