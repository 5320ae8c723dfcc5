from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("chat", "0008_turns_that_wait")]

    operations = [migrations.RenameField("turn", "sentence", "message")]
