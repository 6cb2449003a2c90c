"""Provider `lakehouse-iceberg`: Iceberg tables, whatever keeps the list of them."""

from __future__ import annotations

import itertools
import secrets
import threading
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwater.catalogs.base import Context, Found, NewTable, Page, Provider, SchemaName
from headwater.catalogs.iceberg import layout, metadata, types
from headwater.catalogs.iceberg.backends import Backend
from headwater.catalogs.iceberg.changes import Changer
from headwater.catalogs.iceberg.database import ChangeToken, Questions, file_identity
from headwater.catalogs.iceberg.errors import translated
from headwater.catalogs.iceberg.properties import CATALOG, SCHEMA, TABLE
from headwater.model import changes as c
from headwater.model.errors import (
    ConflictError,
    ConnectionFailedError,
    HeadwaterError,
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
from headwater.model.properties import Kind
from headwater.model.tables import Table

if TYPE_CHECKING:
    from pyiceberg.catalog.sql import SqlCatalog

_ID = "headwater.id"
_EXISTS = "exists"


class IcebergProvider(Provider):
    """Reads go straight to the pointer and the metadata file; changes go through pyiceberg."""

    name = "lakehouse-iceberg"
    type = CatalogType.RELATIONAL
    summary = "Apache Iceberg tables"
    catalog_properties = CATALOG
    schema_properties = SCHEMA
    table_properties = TABLE

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._backend = Backend(context)
        self._opening = threading.Lock()
        self._catalog: SqlCatalog | None = None
        self._asking: Questions | None = None
        self._file: Hashable = None
        self._token = ChangeToken(self._backend.file) if self._backend.file else None

    # --- connection ------------------------------------------------------------------------------------------------

    def test(self) -> None:
        """Reach the database, without making anything in it."""
        try:
            with translated():
                self._backend.probe()
        except HeadwaterError as e:
            raise ConnectionFailedError(e.message) from None

    def close(self) -> None:
        """Let go of the database."""
        if self._token is not None:
            self._token.close()
        # No lock: a thread that hangs in opening the database may hold it for long, and this may not wait.
        catalog, self._catalog, self._asking = self._catalog, None, None
        if catalog is not None:
            catalog.engine.dispose()

    def token(self) -> Hashable | None:
        """Exact for a SQLite file; other databases are asked at every load."""
        return None if self._token is None or self._catalog is None else self._token.read()

    def _open(self) -> SqlCatalog:
        with self._opening:
            self._check_file()
            if self._catalog is None:
                self._catalog = self._backend.open()
                self._asking = Questions(self._catalog)
                self._file = file_identity(self._backend.file) if self._backend.file else None
            return self._catalog

    def _check_file(self) -> None:
        """Notice that the database file was replaced or taken away: what is open is no longer what others see."""
        if self._catalog is None or self._backend.file is None:
            return
        found = file_identity(self._backend.file)
        if found is None:
            raise ConnectionFailedError(f"The catalog's database {self._backend.file} is gone")
        if found != self._file:
            self._catalog.engine.dispose()
            self._catalog = self._asking = None

    def _ask(self) -> Questions:
        catalog = self._open()
        return self._asking or Questions(catalog)

    def _no_such_schema(self, schema: SchemaName) -> NoSuchSchemaError:
        return NoSuchSchemaError(f"Schema {self.context.name}.{join_schema(schema)} does not exist")

    def _no_such_table(self, schema: SchemaName, name: str) -> NoSuchTableError:
        return NoSuchTableError(f"Table {self.context.name}.{join_schema(schema)}.{name} does not exist")

    # --- schemas ---------------------------------------------------------------------------------------------------

    def list_schemas(self, parent: SchemaName, page: Page) -> list[str]:
        """Namespaces right below another one."""
        with translated():
            return page.cut(join_schema(n) for n in self._open().list_namespaces(parent))

    def load_schema(self, schema: SchemaName) -> Found[Schema]:
        """A namespace's properties."""
        with translated():
            properties = self._ask().namespace_properties(".".join(schema))
            if not properties and not self._open().namespace_exists(schema):
                raise self._no_such_schema(schema)
        shown = {k: v for k, v in properties.items() if k not in (_ID, _EXISTS, "comment")}
        found = Schema(name=join_schema(schema), comment=properties.get("comment"), properties=shown)
        return Found(found, properties.get(_ID, ""))

    def create_schema(self, schema: SchemaName, comment: str | None, properties: dict[str, str]) -> Found[Schema]:
        """A namespace; the one above it must be there."""
        values = {**properties, _ID: secrets.token_hex(8), _EXISTS: "true"}
        if comment is not None:
            values["comment"] = comment
        if "location" in values:
            values["location"] = self._backend.normalised("properties.location", values["location"])
        with translated():
            catalog = self._open()
            if len(schema) > 1 and not catalog.namespace_exists(schema[:-1]):
                raise self._no_such_schema(schema[:-1])
            _refuse_dots(schema)
            if catalog.namespace_exists(schema):
                raise SchemaAlreadyExistsError(f"Schema {self.context.name}.{join_schema(schema)} already exists")
            try:
                catalog.create_namespace(schema, values)
            except Exception as e:
                if type(e).__name__ == "IntegrityError":  # made by somebody else at the same moment
                    raise SchemaAlreadyExistsError(f"Schema {join_schema(schema)} already exists") from None
                raise
        return self.load_schema(schema)

    def alter_schema(self, schema: SchemaName, changes: Sequence[c.SchemaChange]) -> Found[Schema]:
        """Set and remove properties in one step."""
        before = self.load_schema(schema)
        after = dict(before.value.properties)
        for change in changes:
            if isinstance(change, c.SetProperty):
                after[change.property] = change.value
            else:
                after.pop(change.property, None)
        removals = before.value.properties.keys() - after.keys()
        updates = {k: v for k, v in after.items() if before.value.properties.get(k) != v}
        if "location" in updates:
            updates["location"] = self._backend.normalised("updates.location", updates["location"])
        # Rows of properties are all that a namespace is made of here: one stays, whatever is removed.
        with translated():
            self._open().update_namespace_properties(schema, set(removals), {**updates, _EXISTS: "true"})
        return self.load_schema(schema)

    def drop_schema(self, schema: SchemaName, cascade: bool) -> bool:
        """A namespace; with `cascade` its tables and namespaces go first (tables without their data)."""
        with translated():
            catalog = self._open()
            if not catalog.namespace_exists(schema):
                return False
            if views := self._ask().views(".".join(schema)):
                found = f"it has views, which are not served here: {', '.join(views)}"
                raise NonEmptySchemaError(f"Schema {join_schema(schema)} is not empty: {found}")
            below, tables = catalog.list_namespaces(schema), catalog.list_tables(schema)
            if (below or tables) and not cascade:
                raise NonEmptySchemaError(
                    f"Schema {join_schema(schema)} is not empty: it has {len(tables)} tables and {len(below)} schemas"
                )
            for table in tables:
                self.drop_table(schema, table[-1], purge=False)
            for namespace in below:
                self.drop_schema(tuple(namespace), cascade=True)
            if catalog.namespace_exists(schema):
                catalog.drop_namespace(schema)
        return True

    # --- tables ----------------------------------------------------------------------------------------------------

    def list_tables(self, schema: SchemaName, page: Page) -> list[str]:
        """One statement; a second one when nothing was found."""
        with translated():
            names = self._ask().table_names(".".join(schema), page)
            if not names and not self._open().namespace_exists(schema):
                raise self._no_such_schema(schema)
        return names

    def load_table(self, schema: SchemaName, name: str) -> Found[Table]:
        """The pointer, then the file that it points to."""
        location = self._pointer(schema, name)
        while True:
            try:
                return self._read_table(schema, name, location)
            except ConnectionFailedError:
                # The table may have moved on, or been purged, between the two steps.
                before, location = location, self._pointer(schema, name)
                if location == before:
                    raise

    def _pointer(self, schema: SchemaName, name: str) -> str:
        with translated():
            location = self._ask().pointer(".".join(schema), name)
            if location is None:
                if not self._open().namespace_exists(schema):
                    raise self._no_such_schema(schema)
                raise self._no_such_table(schema, name)
            return location

    def _read_table(self, schema: SchemaName, name: str, location: str) -> Found[Table]:
        try:
            with translated():
                return metadata.to_table(name, metadata.decode(self._read(location)))
        except (
            ConnectionFailedError,
            IllegalArgumentError,
            RecursionError,
            LookupError,
            AttributeError,
            TypeError,
        ) as e:
            reason = e.message if isinstance(e, HeadwaterError) else "it is not the metadata of a table"
            table = f"{self.context.name}.{join_schema(schema)}.{name}"
            raise ConnectionFailedError(
                f"Table {table}: its metadata file {location} can't be read: {reason}"
            ) from None

    def _read(self, location: str) -> bytes:
        self.context.check_local("metadata location", location)
        if location.startswith(("file:///", "/")):
            return Path(location.removeprefix("file://")).read_bytes()
        from pyiceberg.io import load_file_io

        with load_file_io(self._open().properties, location).new_input(location).open() as stream:
            return stream.read()

    def create_table(self, schema: SchemaName, table: NewTable) -> Found[Table]:
        """Metadata file first, then the row that makes it a table."""
        _refuse_unknown_features(table)
        try:
            self._create(schema, table)
            return self.load_table(schema, table.name)
        except NoSuchTableError:
            raise ConflictError(f"Table {table.name} was dropped by somebody else at the moment it was made") from None

    def _create(self, schema: SchemaName, table: NewTable) -> None:
        with translated():
            catalog = self._open()
            if not catalog.namespace_exists(schema):
                raise self._no_such_schema(schema)
            if table.name in self._ask().views(".".join(schema)):
                raise TableAlreadyExistsError(f"There is a view {table.name} in schema {join_schema(schema)} already")
            iceberg_schema, notes = _iceberg_schema(table)
            catalog.create_table(
                (*schema, table.name),
                iceberg_schema,
                location=self._new_location(schema, table),
                partition_spec=_partition_spec(table, iceberg_schema),
                sort_order=_sort_order(table, iceberg_schema),
                properties=self._stored_properties(table, notes),
            )

    def _new_location(self, schema: SchemaName, table: NewTable) -> str:
        """The table's own location; else the schema's and the name; else the catalog's warehouse."""
        if (given := table.properties.get("location")) is not None:
            return self._backend.normalised("properties.location", given)
        above = self._ask().namespace_properties(".".join(schema)).get("location")
        if above is not None:
            return _free_folder(f"{above.rstrip('/')}/{table.name}")
        if self._backend.warehouse is None:
            raise IllegalArgumentError(
                "properties.location: required, because neither the schema has a location nor the catalog a warehouse"
            )
        return _free_folder("/".join((self._backend.warehouse, *schema, table.name)))

    def _stored_properties(self, table: NewTable, notes: dict[str, str]) -> dict[str, str]:
        """What is stored as properties: location and format have places of their own in the metadata."""
        stored = {k: v for k, v in table.properties.items() if k not in ("location", "provider", "format")}
        for key, value in stored.items():
            if (declared := TABLE.get(key)) is not None and declared.kind is Kind.LOCATION:
                stored[key] = self._backend.normalised(f"properties.{key}", value)
        if (data_format := table.properties.get("format", "").lower().removeprefix("iceberg").strip("/")) != "":
            stored["write.format.default"] = data_format
        if table.comment is not None:
            stored["comment"] = table.comment
        if (mode := layout.distribution_mode(table.distribution)) is not None:
            stored[metadata.MODE] = mode
        return {**stored, **notes}

    def check_changes(self, changes: Sequence[c.TableChange]) -> None:
        """A rename is a step of the catalog, not of the table, and so comes alone."""
        if len(changes) > 1 and any(isinstance(u, c.RenameTable) for u in changes):
            raise IllegalArgumentError("updates: a rename must be the only change of its request")

    def alter_table(self, schema: SchemaName, name: str, changes: Sequence[c.TableChange]) -> Found[Table]:
        """One commit."""
        if isinstance(changes[0], c.RenameTable):
            return self._rename(schema, name, changes[0])
        with translated():
            table = self._load(schema, name)
            transaction = table.transaction()
            Changer(transaction, self._backend.normalised).apply(changes)
            transaction.commit_transaction()
        return self.load_table(schema, name)

    def _load(self, schema: SchemaName, name: str) -> Any:
        """pyiceberg's table, for changes; what can't be read at all is told by the same words as in a load."""
        self.load_table(schema, name)
        try:
            return self._open().load_table((*schema, name))
        except ValueError as e:
            reason = str(e).strip().split("\n")[0]
            table = f"{self.context.name}.{join_schema(schema)}.{name}"
            raise UnsupportedOperationError(f"Table {table} can be read but not changed here: {reason}") from None

    def _rename(self, schema: SchemaName, name: str, change: c.RenameTable) -> Found[Table]:
        target = tuple(change.new_schema_name.split(":")) if change.new_schema_name else schema
        with translated():
            self._load(schema, name)
            if not self._open().namespace_exists(target):
                raise self._no_such_schema(target)
            self._open().rename_table((*schema, name), (*target, change.new_name))
        return self.load_table(target, change.new_name)

    def drop_table(self, schema: SchemaName, name: str, purge: bool) -> bool:
        """The row; with `purge` also data and metadata files."""
        try:
            with translated():
                if purge:
                    self._purge(schema, name)
                else:
                    self._open().drop_table((*schema, name))
        except (NoSuchTableError, NoSuchSchemaError):
            return False  # not there, or dropped by somebody else in this very moment
        return True

    def _purge(self, schema: SchemaName, name: str) -> None:
        try:
            self._load(schema, name)
        except (ConnectionFailedError, UnsupportedOperationError) as e:
            raise type(e)(f"{e.message}; it can be dropped without purge") from None
        self._open().purge_table((*schema, name))


def _free_folder(location: str) -> str:
    """The location, or one beside it if files lie there already: those of a table that was renamed or not purged.

    Two tables in one folder would lose files to each other's clean-up. Only local folders can be looked at cheaply.
    """
    path = Path(location.removeprefix("file://"))
    taken = location.startswith("file:///") and path.is_dir() and any(path.iterdir())
    return f"{location}-{secrets.token_hex(4)}" if taken else location


def _refuse_dots(schema: SchemaName) -> None:
    if any("." in level for level in schema):
        raise IllegalArgumentError("name: a dot separates levels in this catalog's database; write nested names as a:b")


def _refuse_unknown_features(table: NewTable) -> None:
    if not table.columns:
        raise IllegalArgumentError("columns: an Iceberg table needs at least one column")
    for index, column in enumerate(table.columns):
        if column.default_value is not None:
            raise IllegalArgumentError(f"columns[{index}].defaultValue: Iceberg tables do not have them here")
        if column.auto_increment:
            raise IllegalArgumentError(f"columns[{index}].autoIncrement: Iceberg tables do not have auto-increment")
    if table.indexes:
        raise IllegalArgumentError("indexes: Iceberg tables do not have indexes")


def _iceberg_schema(table: NewTable) -> tuple[Any, dict[str, str]]:
    """pyiceberg's schema, and notes of the declared types that it can't hold."""
    from pyiceberg.schema import Schema as IcebergSchema

    counter = itertools.count(1)
    writer = types.Writer(lambda: next(counter))
    numbered = [(next(counter), column) for column in table.columns]
    fields = [
        writer.field(col.name, col.type, col.nullable, col.comment, f"columns[{i}].type", number)
        for i, (number, col) in enumerate(numbered)
    ]
    schema = IcebergSchema.model_validate({"type": "struct", "schema-id": 0, "fields": fields})
    return schema, writer.notes


def _partition_spec(table: NewTable, schema: Any) -> Any:
    from pyiceberg.partitioning import PARTITION_FIELD_ID_START, PartitionField, PartitionSpec

    fields, sources = [], []
    for index, partition in enumerate(table.partitioning):
        where = f"partitioning[{index}]"
        term = layout.partition_term(where, partition)
        source = _source(schema, term.column, where)
        transform = layout.checked_transform(where, term, source.field_type)
        number = PARTITION_FIELD_ID_START + index
        sources.append((source.field_id, term))
        fields.append(PartitionField(source.field_id, number, transform, term.name))
    layout.check_spec("partitioning", sources)
    if len({f.name for f in fields}) < len(fields):
        raise IllegalArgumentError("partitioning: two partition fields would have the same name")
    return PartitionSpec(*fields)


def _sort_order(table: NewTable, schema: Any) -> Any:
    from pyiceberg.table.sorting import UNSORTED_SORT_ORDER, NullOrder, SortDirection, SortField, SortOrder

    if not table.sort_orders:
        return UNSORTED_SORT_ORDER
    fields = []
    for index, order in enumerate(table.sort_orders):
        where = f"sortOrders[{index}].sortTerm"
        term = layout.sort_term(where, order.sort_term)
        source = _source(schema, term.column, where)
        transform = layout.checked_transform(where, term, source.field_type)
        nulls = NullOrder.NULLS_FIRST if order.null_ordering.value == "nulls_first" else NullOrder.NULLS_LAST
        direction = SortDirection.ASC if order.direction.value == "asc" else SortDirection.DESC
        fields.append(SortField(source.field_id, transform, direction, nulls))
    return SortOrder(*fields)


def _source(schema: Any, column: str, where: str) -> Any:
    try:
        return schema.find_field(column, case_sensitive=False)
    except ValueError:
        raise IllegalArgumentError(f"{where}: there is no column {column!r}") from None
