from django.db import migrations


def forget(apps, schema_editor):
    """Sessions of Django's own table are over: those of today know whose they are."""
    apps.get_model("sessions", "Session").objects.all().delete()


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0004_own_sessions'),
        ('sessions', '0001_initial'),
    ]

    operations = [migrations.RunPython(forget, migrations.RunPython.noop)]
