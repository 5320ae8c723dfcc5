from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("accounts", "0004_usage_second_factor_activity")]

    operations = [migrations.RenameField("job", "sentence", "message")]
