from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("chat", "0013_attachment_files")]

    operations = [migrations.RenameField("conversation", "crowded", "overflow_note")]
