"""Provider `lakehouse-iceberg`: Iceberg tables, whatever keeps the list of them."""

from __future__ import annotations

import secrets
from collections.abc import Hashable, Sequence

import msgspec

from headwater.catalogs.base import Context, Found, NewTable, Page, Provider, SchemaName, deleted
from headwater.catalogs.iceberg import newtables
from headwater.catalogs.iceberg.backends import CATALOG, make_backend
from headwater.catalogs.iceberg.errors import no_such_schema, translated
from headwater.catalogs.iceberg.properties import SCHEMA, TABLE
from headwater.catalogs.iceberg.tables import check_changes
from headwater.model import changes as c
from headwater.model.errors import (
    ConflictError,
    ConnectionFailedError,
    HeadwaterError,
    NonEmptySchemaError,
    NoSuchSchemaError,
    NoSuchTableError,
    SchemaAlreadyExistsError,
    TableAlreadyExistsError,
)
from headwater.model.names import join_schema, split_schema
from headwater.model.nouns import CatalogType, Schema
from headwater.model.tables import Table

_ID = "headwater.id"
"""Property of namespaces made here: tells one from another one of the same name."""

_EXISTS = "exists"
"""Property by which Iceberg marks a namespace that has no others."""

_MANY = 10
"""How many names a message spells out."""


class IcebergProvider(Provider):
    """The rules that hold on every backend; the backend keeps the list, and IcebergTables reads and changes tables."""

    name = "lakehouse-iceberg"
    type = CatalogType.RELATIONAL
    summary = "Apache Iceberg tables"
    catalog_properties = CATALOG
    schema_properties = SCHEMA
    table_properties = TABLE

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._backend = make_backend(context)

    # --- connection ------------------------------------------------------------------------------------------------

    def test(self) -> None:
        """Reach the backend, without making anything in it."""
        try:
            with translated():
                self._backend.probe()
        except HeadwaterError as e:
            raise ConnectionFailedError(e.message) from None

    def close(self) -> None:
        """Let go of the backend."""
        self._backend.close()

    def token(self) -> Hashable | None:
        """Exact for a SQLite file; other backends are asked at every load."""
        return self._backend.token()

    def fold(self, name: str) -> str:
        """Metastores keep lower case; all others keep names as they are."""
        return self._backend.folded(name)

    def _folded(self, schema: SchemaName) -> SchemaName:
        return tuple(self._backend.folded(level) for level in schema)

    # --- schemas ---------------------------------------------------------------------------------------------------

    def list_schemas(self, parent: SchemaName, page: Page) -> list[str]:
        """Namespaces right below another one."""
        parent = self._folded(parent)
        try:
            with translated():
                return page.cut(join_schema(n) for n in self._backend.namespaces(parent))
        except NoSuchSchemaError:
            raise no_such_schema(self.context, parent) from None

    def load_schema(self, schema: SchemaName) -> Found[Schema]:
        """A namespace's properties."""
        schema = self._folded(schema)
        try:
            with translated():
                properties = self._backend.namespace(schema)
        except NoSuchSchemaError:
            raise no_such_schema(self.context, schema) from None
        shown = {k: v for k, v in properties.items() if k not in (_ID, _EXISTS, "comment")}
        found = Schema(name=join_schema(schema), comment=properties.get("comment"), properties=shown)
        return Found(found, properties.get(_ID, ""))

    def create_schema(self, schema: SchemaName, comment: str | None, properties: dict[str, str]) -> Found[Schema]:
        """A namespace; the one above it must be there."""
        schema, backend = self._folded(schema), self._backend
        values = {**properties, _ID: secrets.token_hex(8)}
        if comment is not None:
            values["comment"] = comment
        if "location" in values:
            values["location"] = backend.normalised("properties.location", values["location"])
        already = SchemaAlreadyExistsError(f"Schema {self.context.name}.{join_schema(schema)} already exists")
        with translated():
            backend.catalog()
            if len(schema) > 1 and not backend.has_namespace(schema[:-1]):
                raise no_such_schema(self.context, schema[:-1])
            backend.check_schema_name(schema)
            if backend.has_namespace(schema):
                raise already
        try:
            with translated():
                backend.create_namespace(schema, values)
        except SchemaAlreadyExistsError:  # made by somebody else at the same moment
            raise already from None
        return self.load_schema(schema)

    def alter_schema(self, schema: SchemaName, changes: Sequence[c.SchemaChange]) -> Found[Schema]:
        """Set and remove properties in one step."""
        schema = self._folded(schema)
        before = self.load_schema(schema).value.properties
        after = dict(before)
        for change in changes:
            if isinstance(change, c.SetProperty):
                after[change.property] = change.value
            else:
                after.pop(change.property, None)
        updates = {k: v for k, v in after.items() if before.get(k) != v}
        if "location" in updates:
            updates["location"] = self._backend.normalised("updates.location", updates["location"])
        with translated():
            self._backend.update_namespace(schema, set(before.keys() - after.keys()), updates)
        return self.load_schema(schema)

    def drop_schema(self, schema: SchemaName, cascade: bool) -> bool:
        """A namespace; with `cascade` its tables and namespaces go first (tables without their data)."""
        schema, backend = self._folded(schema), self._backend
        with translated():
            if not backend.has_namespace(schema):
                return False
            inside = backend.contents(schema)
            label = f"Schema {join_schema(schema)} is not empty"
            if inside.hidden:
                raise NonEmptySchemaError(f"{label}: {_hidden(inside.hidden)}")
            if (inside.namespaces or inside.tables) and not cascade:
                raise NonEmptySchemaError(
                    f"{label}: it has {len(inside.tables)} tables and {len(inside.namespaces)} schemas"
                )
            noted = deleted.get()
            for table in inside.tables:
                if self.drop_table(schema, table, purge=False) and noted is not None:
                    noted.append(f"{join_schema(schema)}.{table}")
            for namespace in inside.namespaces:
                self.drop_schema(namespace, cascade=True)
            if backend.has_namespace(schema):
                backend.drop_namespace(schema)
        return True

    # --- tables ----------------------------------------------------------------------------------------------------

    def list_tables(self, schema: SchemaName, page: Page) -> list[str]:
        """Names, also of tables that can't be opened."""
        schema = self._folded(schema)
        try:
            with translated():
                return self._backend.table_names(schema, page)
        except NoSuchSchemaError:
            raise no_such_schema(self.context, schema) from None

    def load_table(self, schema: SchemaName, name: str) -> Found[Table]:
        """The table, or the error that says why it can't be had."""
        return self._backend.load_table(self._folded(schema), self._backend.folded(name))

    def create_table(self, schema: SchemaName, table: NewTable) -> Found[Table]:
        """Metadata file first, then the entry that makes it a table."""
        newtables.refuse_unknown_features(table)
        schema, backend = self._folded(schema), self._backend
        table = msgspec.structs.replace(table, name=backend.folded(table.name))
        with translated():
            if not backend.has_namespace(schema):
                raise no_such_schema(self.context, schema)
            if (other := backend.hidden_as(schema, table.name)) is not None:
                raise TableAlreadyExistsError(
                    f"There is {other} {table.name} in schema {join_schema(schema)} already, which is not served here"
                )
            location = backend.new_location(schema, table)
        backend.tables.create(schema, table, location)
        try:
            return self.load_table(schema, table.name)
        except NoSuchTableError:
            raise ConflictError(f"Table {table.name} was dropped by somebody else at the moment it was made") from None

    def check_changes(self, changes: Sequence[c.TableChange]) -> None:
        """A rename comes alone."""
        check_changes(changes)

    def alter_table(self, schema: SchemaName, name: str, changes: Sequence[c.TableChange]) -> Found[Table]:
        """One commit."""
        schema, name = self._folded(schema), self._backend.folded(name)
        if isinstance(changes[0], c.RenameTable):
            return self._rename(schema, name, changes[0])
        try:
            self._backend.tables.alter(schema, name, changes)
        except (NoSuchTableError, NoSuchSchemaError):
            raise self._backend.missing(schema, name) from None
        return self.load_table(schema, name)

    def _rename(self, schema: SchemaName, name: str, change: c.RenameTable) -> Found[Table]:
        target = self._folded(split_schema(change.new_schema_name)) if change.new_schema_name else schema
        new_name = self._backend.folded(change.new_name)
        self.load_table(schema, name)
        with translated():
            if not self._backend.has_namespace(target):
                raise no_such_schema(self.context, target)
            if (other := self._backend.hidden_as(target, new_name)) is not None:
                raise TableAlreadyExistsError(
                    f"There is {other} {new_name} in schema {join_schema(target)} already, which is not served here"
                )
        self._backend.tables.rename(schema, name, target, new_name)
        return self.load_table(target, new_name)

    def drop_table(self, schema: SchemaName, name: str, purge: bool) -> bool:
        """The entry; with `purge` also data and metadata files."""
        schema, name, tables = self._folded(schema), self._backend.folded(name), self._backend.tables
        try:
            (tables.purge if purge else tables.drop)(schema, name)
        except (NoSuchTableError, NoSuchSchemaError):
            return False  # not there, or dropped by somebody else in this very moment
        return True


def _hidden(names: Sequence[str]) -> str:
    shown = ", ".join(sorted(names)[:_MANY]) + (", ..." if len(names) > _MANY else "")
    return f"it has {len(names)} views or tables of other formats, which are not served here: {shown}"
