import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models
from django.db.models.functions import Now


def look_at_old_ones(apps, schema_editor):
    """What was said before there was a history waits for it, too: let the next sweep look."""
    conversations = apps.get_model("chat", "Conversation")
    messages = apps.get_model("chat", "Message")
    unsummarised = messages.objects.filter(
        conversation=models.OuterRef("pk"),
        kind__in=("user", "answer"),
        pk__gt=models.OuterRef("summarised_through"),
    )
    waiting = conversations.objects.filter(models.Exists(unsummarised), consolidate_after=None)
    waiting.update(consolidate_after=Now())


class Migration(migrations.Migration):

    dependencies = [
        ('chat', '0002_pointers'),
    ]

    operations = [
        migrations.AddField(
            model_name='conversation',
            name='crowded',
            field=models.TextField(blank=True),
        ),
        migrations.AddField(
            model_name='conversation',
            name='reply_id',
            field=models.BigIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='message',
            name='is_current',
            field=models.BooleanField(default=True),
        ),
        migrations.AddField(
            model_name='message',
            name='version',
            field=models.PositiveIntegerField(default=1),
        ),
        migrations.AddField(
            model_name='message',
            name='versions',
            field=models.PositiveIntegerField(default=1),
        ),
        migrations.AddField(
            model_name='turn',
            name='context_from',
            field=models.BigIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='turn',
            name='session_from',
            field=models.BigIntegerField(default=0),
        ),
        migrations.AlterField(
            model_name='conversation',
            name='kind',
            field=models.CharField(choices=[('personal', 'Personal'), ('temporary', 'Temporary')], default='personal', max_length=16),
        ),
        migrations.CreateModel(
            name='Branch',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('forks_at', models.BigIntegerField(default=0)),
                ('first', models.BigIntegerField(default=0)),
                ('summarised_through', models.BigIntegerField(default=0)),
                ('context_from', models.BigIntegerField(default=0)),
                ('session_from', models.BigIntegerField(default=0)),
                ('tokens_gone', models.PositiveBigIntegerField(default=0)),
                ('read_to', models.BigIntegerField(default=0)),
                ('left_at', models.DateTimeField(null=True)),
                ('conversation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='branches', to='chat.conversation')),
                ('parent', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='children', to='chat.branch')),
            ],
        ),
        migrations.AddField(
            model_name='conversation',
            name='branch',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='chat.branch'),
        ),
        migrations.AddField(
            model_name='message',
            name='branch',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='messages', to='chat.branch'),
        ),
        migrations.CreateModel(
            name='Summary',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('first', models.BigIntegerField()),
                ('count', models.PositiveIntegerField()),
                ('cursors', models.JSONField(default=list)),
                ('text', models.TextField(blank=True)),
                ('is_raw', models.BooleanField(default=False)),
                ('secrets', models.JSONField(default=list)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('conversation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='summaries', to='chat.conversation')),
                ('message', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='summaries', to='chat.message')),
            ],
        ),
        migrations.AddIndex(
            model_name='branch',
            index=models.Index(fields=['conversation', 'forks_at'], name='branches_of_conversation'),
        ),
        migrations.AddIndex(
            model_name='summary',
            index=models.Index(fields=['conversation', 'first'], name='summaries_of_conversation'),
        ),
        migrations.RunPython(look_at_old_ones, migrations.RunPython.noop, elidable=True),
    ]
