"""The store of passages in PostgreSQL, by ``tsvector`` and a GIN index.

The tables are made when they are missing or of another version, since everything in them can be
made again: a migration would tie the database to what is only a cache. They are beside the
product's own tables, so making them needs no other right than migrating.
"""

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from jenny.search.store import COLUMNS, VALUES, VERSION, Execute, Group, Limits, PassageStore
from jenny.search.words import PREFIX

_VERSION_OF = "select obj_description(to_regclass('search_passage'), 'pg_class')"
_SCHEMA = (
    # Of earlier versions.
    "drop schema if exists jenny_search_1, jenny_search_2 cascade",
    "drop table if exists search_passage, search_document",
    (
        "create table search_document (id bigserial primary key, workspace text not null,"
        " kind text not null, place text not null, stamp text not null,"
        " unique (workspace, kind, place))"
    ),
    (
        "create table search_passage (id bigserial primary key,"
        " document bigint not null references search_document on delete cascade,"
        " workspace text not null, kind text not null, digest text not null,"
        " length integer not null, title text not null, day text not null, anchors text not null,"
        " text text not null, words text not null, vector tsvector not null,"
        " unique (document, digest))"
    ),
    "create index search_passage_length on search_passage (workspace, length)",
    "create index search_passage_vector on search_passage using gin (vector)",
    f"comment on table search_passage is '{VERSION}'",
)
# Any number: only we take a lock with it.
_LOCK = 7_305_271_106
# More need not be counted.
_MOST_COUNTED = 20_000


class PostgresStore(PassageStore):
    """The passages of one workspace.

    *cursor* opens a database cursor in a transaction, which it commits at the end.
    """

    def __init__(
        self, workspace: str, cursor: Callable[[], contextlib.AbstractContextManager[Any]]
    ) -> None:
        self.workspace = workspace
        self._cursor = cursor

    @contextlib.contextmanager
    def connect(self) -> Iterator[Execute]:
        with self._cursor() as cursor:

            def run(text: str, values: Sequence[Any]) -> Iterable[Any]:
                cursor.execute(text, values)
                return cursor.fetchall() if cursor.description else ()

            execute = Execute(run)
            wanted = [(str(VERSION),)]
            if execute(_VERSION_OF) != wanted:
                execute("select pg_advisory_xact_lock(%s)", [_LOCK])
                # Another process may have made them meanwhile.
                if execute(_VERSION_OF) != wanted:
                    for statement in _SCHEMA:
                        execute(statement)
            yield execute

    def clear(self) -> None:
        self.remove(self.stamps())

    def exists(self) -> bool:
        with self.connect() as execute:
            query = "select 1 from search_document where workspace = %s limit 1"
            return bool(execute(query, [self.workspace]))

    def compact(self) -> None:
        """Leave it to the server's autovacuum."""

    def frequencies(self, forms: Iterable[str]) -> dict[str, int]:
        found = {}
        with self.connect() as execute:
            for form in forms:
                count = execute(
                    "select count(*) from (select 1 from search_passage where workspace = %s"
                    " and vector @@ %s::tsquery limit %s) as found",
                    [self.workspace, _quoted(form), _MOST_COUNTED],
                )[0][0]
                if count:
                    found[form] = count
        return found

    def matching(self, groups: Sequence[Group], limits: Limits, most: int) -> list[Any]:
        # BM25 needs counts, which a vector without positions lacks: here the words that occur
        # choose, the more the rarer they are.
        words = [" | ".join(map(_quoted, forms)) for _, forms in groups]
        score = " + ".join(
            f"(vector @@ %s::tsquery)::int * {max(0.1, 10 - math.log(count)):.3f}"
            for count, _ in groups
        )
        wanted = " & ".join(
            f"({' | '.join(words)})"
            for words in [words, *(map(_quoted, forms) for forms in limits.needed)]
        )
        with self.connect() as execute:
            return execute(
                f"select {COLUMNS} from (select id, {score} as score from search_passage"  # noqa: S608 - marks
                " where workspace = %s and kind = any(%s) and vector @@ %s::tsquery"
                " and (day = '' or day between %s and %s)"
                " order by score desc, length limit %s) as best"
                " join search_passage as passage on passage.id = best.id"
                " join search_document as document on document.id = passage.document"
                " order by best.score desc",
                [*words, self.workspace, list(limits.kinds), wanted, *limits.days, most],
            )

    def insert_passage(self, execute: Execute, values: Sequence[Any]) -> None:
        marks = ", ".join(["%s"] * len(values))
        execute(
            f"insert into search_passage ({VALUES}, vector) values"  # noqa: S608 - marks
            f" ({marks}, array_to_tsvector(array_remove(%s::text[], '')))"
            " on conflict do nothing",
            [*values, sorted(set(values[-1].split()))],
        )


def _quoted(form: str) -> str:
    word = form.removesuffix(PREFIX).replace("\\", "\\\\").replace("'", "''")
    return f"'{word}':*" if form.endswith(PREFIX) else f"'{word}'"
