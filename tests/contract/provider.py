"""What every provider of schemas and tables must do. A provider's suite inherits this and adds one fixture."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable

import pytest

from headwater.catalogs.base import NewTable, Page, Provider, SupportsSchemas, SupportsTables
from headwater.model import Column, types
from headwater.model import changes as c
from headwater.model.errors import (
    IllegalArgumentError,
    NonEmptySchemaError,
    NoSuchSchemaError,
    NoSuchTableError,
    SchemaAlreadyExistsError,
    TableAlreadyExistsError,
    UnsupportedOperationError,
)
from headwater.model.tables import Table

ALL = Page()
S = ("s",)


class Relational(SupportsSchemas, SupportsTables, Provider):
    """The type of the provider under test."""


def new_table(name: str = "t", **fields: object) -> NewTable:
    columns = [
        Column("id", types.Long(), nullable=False, comment="the key"),
        Column("name", types.String()),
        Column("price", types.Decimal(18, 2)),
        Column("tags", types.List(types.String())),
    ]
    return NewTable(**{"name": name, "columns": columns, **fields})


def names(table: Table) -> list[str]:
    return [column.name for column in table.columns]


def without_location(properties: dict[str, str]) -> dict[str, str]:
    """A schema's properties without its folder, which some backends choose by themselves."""
    return {k: v for k, v in properties.items() if k != "location"}


def token(provider: Provider) -> Hashable | None:
    """The provider's token, asked for in an event loop as the core does."""

    async def ask() -> Hashable | None:
        found = provider.token()
        await asyncio.sleep(0)  # the turn of the loop ends
        return found

    return asyncio.run(ask())


class ProviderContract:
    """Inherit, and give the fixture `provider`: an open provider without any schema of its test.

    The attributes say what a backend can't do; each is tested all the same, to be refused.
    """

    knows_upper_case = True
    knows_not_null = True
    knows_schemas_inside_schemas = True
    renames_tables = True
    guards_positions = False
    """A column of another type may not take the place of one that goes in the same request."""
    default_schemas: tuple[str, ...] = ()
    """Schemas that a new backend has by itself."""
    characters = "ä"
    """A name beyond ASCII that the backend takes."""

    def new_table(self, name: str = "t", **fields: object) -> NewTable:
        """A table that this backend can make."""
        made = new_table(name, **fields)
        if not self.knows_not_null:
            made.columns = [Column(col.name, col.type, col.comment) for col in made.columns]
        return made

    def own_schemas(self, provider: Relational) -> list[str]:
        """What is there besides the backend's own."""
        return [name for name in provider.list_schemas((), ALL) if name not in self.default_schemas]

    @pytest.fixture
    def provider(self) -> Relational:
        raise AssertionError("the suite of a provider gives this fixture")

    @pytest.fixture
    def schema(self, provider: Relational) -> Relational:
        """The provider with an empty schema `s`."""
        provider.create_schema(S, "a schema", {"k": "v"})
        return provider

    @pytest.fixture
    def table(self, schema: Relational) -> Relational:
        """The provider with a table `s.t`."""
        schema.create_table(S, self.new_table(comment="a table", properties={"a": "1"}))
        return schema

    def test_declarations(self, provider: Relational) -> None:
        assert provider.name and provider.summary.strip()
        for spec in (provider.catalog_properties, provider.schema_properties, provider.table_properties):
            assert len({p.name for p in spec.declared}) == len(spec.declared)
            assert all(p.description.endswith(".") for p in spec.declared), "descriptions are sentences"

    def test_connection(self, provider: Relational) -> None:
        provider.test()

    # --- schemas ---------------------------------------------------------------------------------------------------

    def test_schema_is_made_and_found(self, schema: Relational) -> None:
        found = schema.load_schema(S).value
        assert (found.name, found.comment) == ("s", "a schema")
        assert without_location(found.properties) == {"k": "v"}
        assert self.own_schemas(schema) == ["s"]

    def test_schema_made_twice(self, schema: Relational) -> None:
        with pytest.raises(SchemaAlreadyExistsError):
            schema.create_schema(S, None, {})
        assert schema.load_schema(S).value.comment == "a schema"

    def test_missing_schema(self, provider: Relational) -> None:
        with pytest.raises(NoSuchSchemaError):
            provider.load_schema(S)
        with pytest.raises(NoSuchSchemaError):
            provider.alter_schema(S, [c.SetProperty("a", "b")])
        with pytest.raises(NoSuchSchemaError):
            provider.list_tables(S, ALL)
        with pytest.raises(NoSuchSchemaError):
            provider.load_table(S, "t")
        with pytest.raises(NoSuchSchemaError):
            provider.create_table(S, self.new_table())
        assert provider.drop_schema(S, cascade=False) is False
        assert provider.drop_table(S, "t", purge=False) is False

    def test_schema_identity(self, schema: Relational) -> None:
        before = schema.load_schema(S).identity
        assert schema.load_schema(S).identity == before
        assert schema.drop_schema(S, cascade=False) is True
        assert schema.create_schema(S, None, {}).identity != before, "a new schema of the old name is another one"

    def test_schema_is_altered(self, schema: Relational) -> None:
        changed = schema.alter_schema(S, [c.SetProperty("a", "b"), c.RemoveProperty("k"), c.RemoveProperty("none")])
        assert without_location(changed.value.properties) == {"a": "b"}
        schema.alter_schema(S, [c.RemoveProperty("a")])
        assert without_location(schema.load_schema(S).value.properties) == {}
        assert schema.load_schema(S).value.comment == "a schema"

    def test_schemas_inside_schemas(self, schema: Relational) -> None:
        if not self.knows_schemas_inside_schemas:
            with pytest.raises(IllegalArgumentError):
                schema.create_schema((*S, "inner"), None, {})
            with pytest.raises(NoSuchSchemaError):
                schema.load_schema((*S, "inner"))
            assert schema.list_schemas(S, ALL) == []
            return
        with pytest.raises(NoSuchSchemaError):
            schema.create_schema(("missing", "inner"), None, {})
        schema.create_schema((*S, "inner"), None, {})
        assert self.own_schemas(schema) == ["s"]
        assert schema.list_schemas(S, ALL) == ["s:inner"]
        schema.create_table((*S, "inner"), self.new_table())
        assert schema.list_tables(S, ALL) == []
        with pytest.raises(NonEmptySchemaError):
            schema.drop_schema(S, cascade=False)
        assert schema.drop_schema(S, cascade=True) is True
        assert self.own_schemas(schema) == []

    def test_schema_with_tables_is_not_dropped(self, table: Relational) -> None:
        with pytest.raises(NonEmptySchemaError):
            table.drop_schema(S, cascade=False)
        assert table.list_tables(S, ALL) == ["t"]
        assert table.drop_schema(S, cascade=True) is True

    # --- tables ----------------------------------------------------------------------------------------------------

    def test_table_is_made_and_found(self, table: Relational) -> None:
        found = table.load_table(S, "t").value
        assert (found.name, found.comment, found.properties["a"]) == ("t", "a table", "1")
        assert names(found) == ["id", "name", "price", "tags"]
        assert [col.type for col in found.columns] == [col.type for col in self.new_table().columns]
        assert found.columns[0].comment == "the key"
        assert [col.nullable for col in found.columns] == [not self.knows_not_null, True, True, True]

    def test_not_null(self, schema: Relational) -> None:
        if self.knows_not_null:
            assert schema.create_table(S, new_table()).value.columns[0].nullable is False
        else:
            with pytest.raises(IllegalArgumentError, match="nullable"):
                schema.create_table(S, new_table())
            assert schema.list_tables(S, ALL) == []

    def test_upper_case(self, schema: Relational) -> None:
        assert (schema.fold("Ab") == "Ab") is self.knows_upper_case
        schema.create_table(S, self.new_table(schema.fold("Ab")))
        assert schema.load_table(S, schema.fold("Ab")).value.name == schema.fold("Ab")
        if not self.knows_upper_case:
            assert schema.load_table(("S",), "AB").value.name == "ab", "a name in any case is the same table"

    def test_table_made_twice(self, table: Relational) -> None:
        with pytest.raises(TableAlreadyExistsError):
            table.create_table(S, self.new_table())

    def test_missing_table(self, schema: Relational) -> None:
        with pytest.raises(NoSuchTableError):
            schema.load_table(S, "t")
        with pytest.raises(NoSuchTableError):
            schema.alter_table(S, "t", [c.UpdateComment("x")])
        assert schema.drop_table(S, "t", purge=False) is False

    def test_pages(self, schema: Relational) -> None:
        upper = "Z" if self.knows_upper_case else "a0"
        for name in ("b2", "a1", "b1", upper, "c", self.characters):
            schema.create_table(S, self.new_table(name))
        everything = [upper, "a1", "b1", "b2", "c", self.characters]
        assert schema.list_tables(S, ALL) == everything, "names come in byte order"
        assert schema.list_tables(S, Page(limit=2))[:2] == [upper, "a1"]
        assert len(schema.list_tables(S, Page(limit=2))) == 3, "one more tells that there is another page"
        assert schema.list_tables(S, Page(limit=10, after="b1")) == ["b2", "c", self.characters]
        assert schema.list_tables(S, Page(prefix="b")) == ["b1", "b2"]
        assert schema.list_tables(S, Page(limit=1, after="b1", prefix="b")) == ["b2"]

    def test_table_identity(self, table: Relational) -> None:
        before = table.load_table(S, "t").identity
        assert table.load_table(S, "t").identity == before
        assert table.drop_table(S, "t", purge=False) is True
        assert table.create_table(S, self.new_table()).identity != before, "a new table of the old name is another one"

    def test_table_is_altered_in_order(self, table: Relational) -> None:
        changes: list[c.TableChange] = [
            c.UpdateComment("another"),
            c.SetTableProperty("b", "2"),
            c.RemoveProperty("a"),
            c.AddColumn(["extra"], types.Integer(), comment="new"),
            c.RenameColumn(["extra"], "more"),
            c.DeleteColumn(["tags"]),
            c.DeleteColumn(["tags"], if_exists=True),
        ]
        if self.guards_positions:
            with pytest.raises(IllegalArgumentError, match="positions"):
                table.alter_table(S, "t", changes)
            table.alter_table(S, "t", [changes.pop(5)])
        found = table.alter_table(S, "t", changes).value
        assert names(found) == ["id", "name", "price", "more"]
        assert found.comment == "another"
        assert found.properties.get("b") == "2" and "a" not in found.properties
        assert table.load_table(S, "t").value == found

    def test_alter_is_all_or_nothing(self, table: Relational) -> None:
        before = table.load_table(S, "t").value
        with pytest.raises(IllegalArgumentError):
            table.alter_table(S, "t", [c.UpdateComment("half done"), c.DeleteColumn(["none"])])
        assert table.load_table(S, "t").value == before

    def test_table_is_renamed(self, table: Relational) -> None:
        if not self.renames_tables:
            with pytest.raises(UnsupportedOperationError, match="rename"):
                table.alter_table(S, "t", [c.RenameTable("u")])
            assert table.list_tables(S, ALL) == ["t"]
            return
        identity = table.load_table(S, "t").identity
        table.create_table(S, self.new_table("taken"))
        with pytest.raises(TableAlreadyExistsError):
            table.alter_table(S, "t", [c.RenameTable("taken")])
        found = table.alter_table(S, "t", [c.RenameTable("u")])
        assert found.value.name == "u"
        assert found.identity == identity
        assert table.list_tables(S, ALL) == ["taken", "u"]

    def test_table_moves_to_another_schema(self, table: Relational) -> None:
        if not self.renames_tables:
            return  # refused as every rename is
        table.create_schema(("other",), None, {})
        with pytest.raises(NoSuchSchemaError):
            table.alter_table(S, "t", [c.RenameTable("u", "missing")])
        table.alter_table(S, "t", [c.RenameTable("u", "other")])
        assert (table.list_tables(S, ALL), table.list_tables(("other",), ALL)) == ([], ["u"])

    def test_table_is_dropped(self, table: Relational) -> None:
        assert table.drop_table(S, "t", purge=False) is True
        assert table.list_tables(S, ALL) == []
        with pytest.raises(NoSuchTableError):
            table.load_table(S, "t")

    def test_token_moves_with_every_change(self, schema: Relational) -> None:
        seen = [token(schema)]
        if seen == [None]:
            return  # this backend can't tell at once, and is asked each time
        steps = (
            lambda: schema.create_table(S, self.new_table()),
            lambda: schema.alter_table(S, "t", [c.UpdateComment("x")]),
            lambda: schema.alter_schema(S, [c.SetProperty("x", "y")]),
            lambda: schema.drop_table(S, "t", purge=False),
        )
        for step in steps:
            step()
            assert token(schema) not in seen
            seen.append(token(schema))
        assert token(schema) == seen[-1], "nothing changed, so neither does the token"
