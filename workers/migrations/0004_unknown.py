"""Why what is missing in a worker's last reading is."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("workers", "0003_execution")]

    operations = [
        migrations.AddField(model_name="worker", name="unknown", field=models.JSONField(blank=True, default=dict)),
    ]
