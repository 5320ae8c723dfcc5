"""Queries of the ORM whose SQL is compiled once per process.

Compiling a query takes Django ten times as long as the database takes to answer it. The queries
that each message needs are prepared here, with slots for the values that differ.
"""

import copy
from collections.abc import Callable
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections, models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.expressions import Expression
from django.db.models.sql import UpdateQuery
from django.db.models.sql.compiler import SQLCompiler
from django.db.transaction import TransactionManagementError, mark_for_rollback_on_error


class Slot(Expression):
    """The place of a value that each use gives; *field* converts it for the database.

    Never null: that would be another query.
    """

    def __init__(self, name: str, field: "models.Field[Any, Any]") -> None:
        super().__init__(output_field=field)
        self.name = name

    def as_sql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> Any:
        """Return a placeholder; the slot itself stands for its value."""
        del compiler, connection
        return "%s", [self]

    def filled(self, value: object, connection: BaseDatabaseWrapper) -> Any:
        return self.output_field.get_db_prep_value(value, connection)


def number_slot(name: str) -> Slot:
    return Slot(name, models.BigIntegerField())


def text_slot(name: str) -> Slot:
    return Slot(name, models.TextField())


def uuid_slot(name: str) -> Slot:
    return Slot(name, models.UUIDField())


class Statement:
    """SQL for one kind of database, with the converters of its rows."""

    def __init__(self, compiler: SQLCompiler) -> None:
        self.compiler = compiler
        self.sql: str
        self._params: tuple[Any, ...]
        self.sql, self._params = compiler.as_sql()
        # An update has no columns.
        columns = (compiler.select or [])[: getattr(compiler, "col_count", 0)]
        self.converters: Any = compiler.get_converters([column[0] for column in columns])
        # It belongs to the thread that compiled the query.
        vars(compiler)["connection"] = None

    def filled(
        self, connection: BaseDatabaseWrapper, given: dict[str, object]
    ) -> tuple[str, tuple[Any, ...]]:
        """Return the SQL, and its parameters with *given* in the slots."""
        return self.sql, tuple(
            param.filled(given[param.name], connection) if isinstance(param, Slot) else param
            for param in self._params
        )


class Prepared[Row]:
    """A query with slots. *make* builds it with the ORM and is called at the first use."""

    def __init__(self, make: Callable[[], models.QuerySet[Any, Row]]) -> None:
        self._make = make
        self._made: dict[str, tuple[models.QuerySet[Any, Row], Statement]] = {}

    def rows(self, **given: object) -> list[Row]:
        connection = connections[DEFAULT_DB_ALIAS]
        queryset, statement = self._for(connection)
        if queryset.query.select_for_update and not connection.in_atomic_block:
            message = "rows are held by a transaction; there is none"
            raise TransactionManagementError(message)
        compiler = copy.copy(statement.compiler)
        compiler.connection = connection
        filled = statement.filled(connection, given)
        # These are the attributes of Django's compiler that produce the SQL and convert columns
        # into values.
        vars(compiler).update(
            as_sql=lambda **_: filled, get_converters=lambda _: statement.converters
        )
        query = copy.copy(queryset.query)
        vars(query).update(get_compiler=lambda *_, **__: compiler)
        asked = type(queryset)(model=queryset.model, query=query)
        # Evaluates a queryset without copying it for refinement.
        iterate: Any = queryset._iterable_class  # noqa: SLF001 - there is no public name
        return list(iterate(asked))

    def first(self, **given: object) -> Row | None:
        """Return the first row; ``None``: there is none."""
        return next(iter(self.rows(**given)), None)

    def _for(self, connection: BaseDatabaseWrapper) -> tuple[models.QuerySet[Any, Row], Statement]:
        made = self._made.get(connection.vendor)
        if made is None:
            queryset = self._make()
            made = queryset, Statement(queryset.query.get_compiler(connection=connection))
            self._made[connection.vendor] = made
        return made


class PreparedUpdate:
    """A prepared update of the rows of *make* to *values*, which may be slots."""

    def __init__(self, make: Callable[[], models.QuerySet[Any, Any]], **values: object) -> None:
        self._make = make
        self._values = values
        self._made: dict[str, Statement] = {}

    def run(self, **given: object) -> int:
        """Run it with *given* in the slots, and return how many rows it changed."""
        connection = connections[DEFAULT_DB_ALIAS]
        statement = self._made.get(connection.vendor)
        if statement is None:
            query: Any = self._make().query.chain(UpdateQuery)
            query.add_update_values(self._values)
            statement = Statement(query.get_compiler(connection=connection))
            self._made[connection.vendor] = statement
        with mark_for_rollback_on_error(DEFAULT_DB_ALIAS), connection.cursor() as cursor:
            cursor.execute(*statement.filled(connection, given))
            return int(cursor.rowcount)


class PreparedInsert[Row: models.Model]:
    """A prepared insert of a row of *model*. No signal is sent."""

    def __init__(self, model: type[Row]) -> None:
        self._model = model
        self._made: dict[str, str] = {}
        # Values from the database, such as a number or a time, are read back.
        self._given: list[Any] = []
        self._stored: list[Any] = []

    def create(self, **values: object) -> Row:
        """Store a row with these *values* and the defaults of the other fields, and return it.

        Fields that the database sets cannot be given.
        """
        connection = connections[DEFAULT_DB_ALIAS]
        sql = self._made.get(connection.vendor) or self._make(connection)
        row = self._model(**values)
        with mark_for_rollback_on_error(DEFAULT_DB_ALIAS), connection.cursor() as cursor:
            stored = (
                field.get_db_prep_save(field.pre_save(row, add=True), connection)
                for field in self._stored
            )
            cursor.execute(sql, list(stored))
            for field, value in zip(self._given, cursor.fetchone(), strict=True):
                setattr(row, field.attname, _converted(field, value, connection))
        row._state.adding, row._state.db = False, DEFAULT_DB_ALIAS  # noqa: SLF001 - Django documents it
        return row

    def _make(self, connection: BaseDatabaseWrapper) -> str:
        about = self._model._meta  # noqa: SLF001 - Django documents it
        every: list[Any] = list(about.local_concrete_fields)
        self._given = [field for field in every if field.db_returning]
        self._stored = [field for field in every if not field.db_returning]
        name = connection.ops.quote_name
        sql = (
            f"INSERT INTO {name(about.db_table)}"  # noqa: S608 - names of the schema
            f" ({', '.join(name(field.column) for field in self._stored)})"
            f" VALUES ({', '.join('%s' for _ in self._stored)})"
            f" RETURNING {', '.join(name(field.column) for field in self._given)}"
        )
        self._made[connection.vendor] = sql
        return sql


def _converted(field: Any, value: Any, connection: BaseDatabaseWrapper) -> Any:
    column = field.cached_col
    for convert in connection.ops.get_db_converters(column):
        value = convert(value, column, connection)
    for convert in field.get_db_converters(connection):
        value = convert(value, column, connection)
    return value
