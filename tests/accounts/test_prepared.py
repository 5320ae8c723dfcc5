"""A query that is put into SQL once finds what the ORM would, each time and in every thread."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.contrib.auth.models import Group
from django.core.exceptions import ObjectNotUpdated
from django.db import connection, transaction

from jenny.accounts.models import Account, Workspace
from jenny.accounts.services.prepared_statements import (
    Prepared,
    PreparedUpdate,
    number_slot,
    text_slot,
    uuid_slot,
)
from tests.support.stack import PASSWORD

OWNED = Prepared(
    lambda: (
        Workspace.objects.select_related("owner")
        .filter(owner=number_slot("owner"), name__in=["home", "work"])
        .order_by("name")
    )
)
NAMES = Prepared(
    lambda: Workspace.objects.filter(pk=uuid_slot("workspace")).values_list("name", "created_at")
)
RENAME = PreparedUpdate(
    lambda: Workspace.objects.filter(slug=text_slot("slug")), name=text_slot("name")
)


@pytest.fixture
def people(db) -> list[Account]:
    """Two people with workspaces of the same names."""
    people = [Account.objects.create_user(name, password=PASSWORD) for name in ("ana", "ben")]
    for person in people:
        for name in ("work", "home", "other"):
            Workspace.objects.create(owner=person, name=name, slug=f"{person.username}-{name}")
    return people


def test_each_use_finds_its_own(people):
    """What is given at one use does not stick to the next, and what belongs to a row is there
    with it."""
    for person in (*people, people[0]):
        found = OWNED.rows(owner=person.pk)
        assert [row.slug for row in found] == [
            f"{person.username}-home",
            f"{person.username}-work",
        ]
        assert [row.owner.username for row in found] == [person.username] * 2
    assert OWNED.first(owner=0) is None


def test_values_come_as_the_orm_gives_them(people):
    """Times are times with a zone, and identifiers are taken as such."""
    for row in Workspace.objects.all():
        assert NAMES.rows(workspace=row.pk) == [(row.name, row.created_at)]


def test_what_it_finds_costs_one_query(people, django_assert_num_queries):
    """The rows that come along are not asked for one by one."""
    OWNED.rows(owner=people[0].pk)
    with django_assert_num_queries(1):
        assert [row.owner.username for row in OWNED.rows(owner=people[0].pk)] == ["ana", "ana"]


def test_an_update_changes_those_rows_alone(people):
    """It says how many, as the ORM does."""
    assert RENAME.run(slug="ana-work", name="it's %s") == 1
    assert RENAME.run(slug="nobody", name="x") == 0
    assert Workspace.objects.get(slug="ana-work").name == "it's %s"
    assert Workspace.objects.filter(name="it's %s").count() == 1


def test_a_new_row_is_as_the_orm_makes_it(people):
    """Defaults, and what the database gives, are there at once."""
    from jenny.chat.models import Block, Conversation, Message, Turn

    chat = Conversation.objects.create(workspace=people[0].workspaces.first())
    turn = Turn.insert(conversation=chat)
    message = Message.insert(conversation=chat, kind="answer", turn=turn, text="100 %s")
    block = Block.insert(turn=turn, message=message, kind="tool", data={"arguments": {"a": [1]}})
    for row in (turn, message, block):
        stored = type(row).objects.get(pk=row.pk)
        assert {field.attname: getattr(row, field.attname) for field in row._meta.fields} == {
            field.attname: getattr(stored, field.attname) for field in row._meta.fields
        }
        row.save()
        assert type(row).objects.filter(pk=row.pk).count() == 1


def test_a_block_that_was_deleted_is_not_written(people):
    """The worker that writes it hears of it, and stops."""
    from jenny.chat.models import Block, Conversation, Message, Turn

    chat = Conversation.objects.create(workspace=people[0].workspaces.first())
    turn = Turn.insert(conversation=chat)
    message = Message.insert(conversation=chat, kind="answer", turn=turn)
    block = Block.insert(turn=turn, message=message, kind="text")
    block.text, block.data = "words", {"done": 2}
    block.store()
    stored = Block.objects.get(pk=block.pk)
    assert (stored.text, stored.data) == ("words", {"done": 2})
    stored.delete()
    with pytest.raises(ObjectNotUpdated):
        block.store()


def test_an_account_that_is_asked_of_a_group_is_one_of_the_group(people):
    """The quick way to an account by its number looks at no group."""
    group = Group.objects.create(name="some")
    group.user_set.add(people[0])
    assert group.user_set.get(pk=people[0].pk) == people[0]
    with pytest.raises(Account.DoesNotExist):
        group.user_set.get(pk=people[1].pk)


@pytest.mark.django_db(transaction=True)
def test_rows_are_not_held_without_a_transaction():
    """Whoever forgets it hears of it each time, and on every database."""
    held = Prepared(lambda: Account.objects.select_for_update().filter(pk=number_slot("account")))
    with transaction.atomic():
        assert held.rows(account=0) == []
    for _ in range(2):
        with pytest.raises(transaction.TransactionManagementError):
            held.rows(account=0)


@pytest.mark.django_db(transaction=True)
def test_threads_do_not_share_a_connection():
    """Each asks by its own, at the same time."""
    people = [Account.objects.create_user(f"a{n}", password=PASSWORD) for n in range(8)]
    for person in people:
        Workspace.objects.create(owner=person, name="home", slug=f"{person.username}-home")

    def ask(person: Account) -> bool:
        try:
            return all(
                [row.slug for row in OWNED.rows(owner=person.pk)] == [f"{person.username}-home"]
                for _ in range(50)
            )
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, people))
