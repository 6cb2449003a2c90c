"""A provider that lives outside of Headwater: its tables are Python objects in this process."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Sequence
from typing import ClassVar

import msgspec

from headwater.catalogs.base import Context, Found, NewTable, Page, Provider, SchemaName
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
from headwater.model.names import join_schema
from headwater.model.nouns import CatalogType, Schema
from headwater.model.properties import Kind, Properties, Property
from headwater.model.tables import Column, Distribution, Table


class Box:
    """The toys of one box: schemas with their tables."""

    def __init__(self) -> None:
        self.schemas: dict[SchemaName, Schema] = {}
        self.tables: dict[tuple[SchemaName, str], Table] = {}
        self.marks: dict[object, str] = {}
        self.lock = threading.RLock()
        self.changes = 0

    def mark(self, key: object) -> None:
        """Give what is made now an identity that nothing had before."""
        self.changes += 1
        self.marks[key] = str(self.changes)


class ToyboxProvider(Provider):
    """Keeps toys."""

    name = "toybox"
    type = CatalogType.RELATIONAL
    summary = "Toys, for as long as the server runs"
    catalog_properties = Properties(
        [
            Property(
                name="colour", description="Of the box.", required=True, kind=Kind.CHOICE, choices=("red", "blue")
            ),
            Property(name="lid-code", description="Opens the box.", hidden=True),
        ]
    )
    schema_properties = Properties([Property(name="shelf", description="Where it stands.", immutable=True)])
    table_properties = Properties([Property(name="wheels", description="How many.", kind=Kind.INTEGER)])
    _boxes: ClassVar[dict[str, Box]] = {}

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._box = self._boxes.setdefault(str(context.scratch), Box())

    def token(self) -> Hashable | None:
        return self._box.changes

    def _require(self, schema: SchemaName) -> Schema:
        found = self._box.schemas.get(schema)
        if found is None:
            raise NoSuchSchemaError(f"Schema {join_schema(schema)} does not exist")
        return found

    def list_schemas(self, parent: SchemaName, page: Page) -> list[str]:
        depth = len(parent) + 1
        return page.cut(join_schema(s) for s in self._box.schemas if len(s) == depth and s[:-1] == parent)

    def load_schema(self, schema: SchemaName) -> Found[Schema]:
        with self._box.lock:
            found = self._require(schema)
            return Found(msgspec.structs.replace(found, properties=dict(found.properties)), self._box.marks[schema])

    def create_schema(self, schema: SchemaName, comment: str | None, properties: dict[str, str]) -> Found[Schema]:
        with self._box.lock:
            if schema in self._box.schemas:
                raise SchemaAlreadyExistsError(f"Schema {join_schema(schema)} already exists")
            if len(schema) > 1:
                self._require(schema[:-1])
            made = Schema(name=join_schema(schema), comment=comment, properties=dict(properties))
            self._box.schemas[schema] = made
            self._box.mark(schema)
        return self.load_schema(schema)

    def alter_schema(self, schema: SchemaName, changes: Sequence[c.SchemaChange]) -> Found[Schema]:
        with self._box.lock:
            found = self._require(schema)
            for change in changes:
                if isinstance(change, c.SetProperty):
                    found.properties[change.property] = change.value
                else:
                    found.properties.pop(change.property, None)
            self._box.changes += 1
        return self.load_schema(schema)

    def drop_schema(self, schema: SchemaName, cascade: bool) -> bool:
        with self._box.lock:
            if schema not in self._box.schemas:
                return False
            inside = [k for k in self._box.tables if k[0][: len(schema)] == schema]
            below = [s for s in self._box.schemas if len(s) > len(schema) and s[: len(schema)] == schema]
            if (inside or below) and not cascade:
                raise NonEmptySchemaError(f"Schema {join_schema(schema)} is not empty")
            for key in inside:
                del self._box.tables[key]
            for name in (*below, schema):
                del self._box.schemas[name]
            self._box.changes += 1
        return True

    def list_tables(self, schema: SchemaName, page: Page) -> list[str]:
        with self._box.lock:
            self._require(schema)
            return page.cut(name for s, name in self._box.tables if s == schema)

    def load_table(self, schema: SchemaName, name: str) -> Found[Table]:
        with self._box.lock:
            self._require(schema)
            found = self._box.tables.get((schema, name))
            if found is None:
                raise NoSuchTableError(f"Table {join_schema(schema)}.{name} does not exist")
            copy = msgspec.structs.replace(found, columns=list(found.columns), properties=dict(found.properties))
            return Found(copy, self._box.marks[schema, name])

    def create_table(self, schema: SchemaName, table: NewTable) -> Found[Table]:
        with self._box.lock:
            self._require(schema)
            if (schema, table.name) in self._box.tables:
                raise TableAlreadyExistsError(f"Table {join_schema(schema)}.{table.name} already exists")
            self._box.tables[schema, table.name] = Table(
                name=table.name,
                comment=table.comment,
                columns=list(table.columns),
                properties=dict(table.properties),
                distribution=table.distribution or Distribution.none(),
                sort_orders=list(table.sort_orders),
                partitioning=list(table.partitioning),
                indexes=list(table.indexes),
            )
            self._box.mark((schema, table.name))
        return self.load_table(schema, table.name)

    def alter_table(self, schema: SchemaName, name: str, changes: Sequence[c.TableChange]) -> Found[Table]:
        with self._box.lock:
            table = self.load_table(schema, name).value
            target = schema
            for change in changes:
                target = self._apply(table, target, change)
            moved = (target, table.name)
            if moved != (schema, name):
                self._require(target)
                if moved in self._box.tables:
                    raise TableAlreadyExistsError(f"Table {table.name} already exists")
            del self._box.tables[schema, name]
            self._box.tables[moved] = table
            self._box.marks[moved] = self._box.marks.pop((schema, name))
            self._box.changes += 1
        return self.load_table(target, table.name)

    def _apply(self, table: Table, schema: SchemaName, change: c.TableChange) -> SchemaName:
        names = [col.name for col in table.columns]
        match change:
            case c.RenameTable():
                table.name = change.new_name
                return tuple(change.new_schema_name.split(":")) if change.new_schema_name else schema
            case c.UpdateComment() | c.SetTableProperty() | c.RemoveProperty():
                self._describe(table, change)
            case c.AddColumn():
                if change.field_name[0] in names:
                    raise IllegalArgumentError(f"There is a column {change.field_name[0]!r} already")
                table.columns.append(Column(change.field_name[0], change.type, comment=change.comment))
            case c.DeleteColumn():
                if change.field_name[0] not in names and not change.if_exists:
                    raise IllegalArgumentError(f"There is no column {change.field_name[0]!r}")
                table.columns = [col for col in table.columns if col.name != change.field_name[0]]
            case c.RenameColumn():
                if change.old_field_name[0] not in names:
                    raise IllegalArgumentError(f"There is no column {change.old_field_name[0]!r}")
                for col in table.columns:
                    if col.name == change.old_field_name[0]:
                        col.name = change.new_field_name
            case _:
                raise UnsupportedOperationError(f"Toys can't do {type(change).__name__}")
        return schema

    def _describe(self, table: Table, change: c.TableChange) -> None:
        match change:
            case c.UpdateComment():
                table.comment = change.new_comment
            case c.SetTableProperty():
                table.properties[change.property] = change.value
            case c.RemoveProperty():
                table.properties.pop(change.property, None)

    def drop_table(self, schema: SchemaName, name: str, purge: bool) -> bool:
        with self._box.lock:
            self._box.changes += 1
            return self._box.tables.pop((schema, name), None) is not None
