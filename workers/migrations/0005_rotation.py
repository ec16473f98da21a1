from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('workers', '0004_unknown'),
    ]

    operations = [
        migrations.AddField(
            model_name='credential',
            name='rotation_asked_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
    ]
