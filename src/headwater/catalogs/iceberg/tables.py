"""What is done with the Iceberg tables of one pyiceberg catalog, whatever keeps the list of them."""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from headwater.catalogs.base import Context, Found, NewTable, SchemaName
from headwater.catalogs.iceberg import locations, metadata, newtables
from headwater.catalogs.iceberg.changes import Changer
from headwater.catalogs.iceberg.errors import translated
from headwater.catalogs.iceberg.properties import CODE
from headwater.model import changes as c
from headwater.model.errors import (
    ConnectionFailedError,
    HeadwaterError,
    IllegalArgumentError,
    UnsupportedOperationError,
)
from headwater.model.names import join_schema
from headwater.model.tables import Table

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.io import FileIO
    from pyiceberg.table import Table as IcebergTable

_UNREADABLE = (
    ConnectionFailedError,
    IllegalArgumentError,
    RecursionError,
    LookupError,
    AttributeError,
    TypeError,
    EOFError,
    zlib.error,
)


def check_changes(changes: Sequence[c.TableChange]) -> None:
    """A rename is a step of the catalog, not of the table, and so comes alone."""
    if len(changes) > 1 and any(isinstance(u, c.RenameTable) for u in changes):
        raise IllegalArgumentError("updates: a rename must be the only change of its request")


class IcebergTables:
    """Reads decode the metadata file themselves; changes go through pyiceberg.

    `catalog` opens the pyiceberg catalog, or gives the open one. `diagnose` is asked, with schema and name, when
    pyiceberg can't open a table: it raises the error that says why, unless the table can be read after all.
    `normalised` checks a location that is given for a field, and answers it as it is written down.
    """

    def __init__(
        self,
        context: Context,
        catalog: Callable[[], Catalog],
        diagnose: Callable[[SchemaName, str], object] = lambda *_: None,
        normalised: Callable[[str, str], str] | None = None,
    ) -> None:
        self._context, self._catalog, self._diagnose = context, catalog, diagnose
        self._normalised = normalised or functools.partial(locations.normalised, context)
        self._files: FileIO | None = None

    # --- reading ---------------------------------------------------------------------------------------------------

    def read(self, label: str, name: str, metadata_location: str) -> Found[Table]:
        """The table that a metadata file describes; `label` is what an error calls the table."""
        try:
            with translated():
                return self.decode(name, self._bytes(metadata_location))
        except _UNREADABLE as e:
            reason = e.message if isinstance(e, HeadwaterError) else "it is not the metadata of a table"
            raise ConnectionFailedError(
                f"Table {label}: its metadata file {metadata_location} can't be read: {reason}"
            ) from None

    def decode(self, name: str, content: bytes) -> Found[Table]:
        """The table that metadata, gzipped or not, describes."""
        return metadata.to_table(name, metadata.decode(metadata.unzipped(content)))

    def _bytes(self, location: str) -> bytes:
        self._context.check_local("metadata location", location)
        path = locations.local_path(location)
        if path is not None:
            return path.read_bytes()
        with self._file_io().new_input(location).open() as stream:
            return stream.read()

    def _file_io(self) -> FileIO:
        """One for all reads, since each opens connections of its own."""
        from headwater.catalogs.iceberg.files import MetadataFiles

        if self._files is None:
            self._files = MetadataFiles(self._catalog().properties)
        return self._files

    # --- changing --------------------------------------------------------------------------------------------------

    def create(
        self, schema: SchemaName, table: NewTable, location: str | None, properties: Mapping[str, str] | None = None
    ) -> None:
        """Metadata file first, then the entry that makes it a table.

        `location` None leaves the place to the pyiceberg catalog. `properties` go into the metadata beside the table's.
        """
        newtables.refuse_unknown_features(table)
        with translated():
            iceberg_schema, notes = newtables.iceberg_schema(table)
            self._catalog().create_table(
                (*schema, table.name),
                iceberg_schema,
                location=location,
                partition_spec=newtables.partition_spec(table, iceberg_schema),
                sort_order=newtables.sort_order(table, iceberg_schema),
                properties={**newtables.stored_properties(table, notes, self._normalised), **(properties or {})},
            )

    def register(self, schema: SchemaName, name: str, metadata_location: str) -> None:
        """The entry for a metadata file that is there; the location must be normalised."""
        self.read(self._label(schema, name), name, metadata_location)  # or the error that names the file and the reason
        with translated():
            self._catalog().register_table((*schema, name), metadata_location)

    def alter(self, schema: SchemaName, name: str, changes: Sequence[c.TableChange]) -> None:
        """All changes in one commit; a rename is not among them."""
        with translated():
            table = self._open(schema, name)
            self._context.check_local(f"location of table {self._label(schema, name)}", table.location())
            for key in CODE:
                if key in table.properties:
                    raise UnsupportedOperationError(
                        f"Table {self._label(schema, name)} can't be changed here: its property {key} names code"
                    )
            transaction = table.transaction()
            Changer(transaction, self._normalised).apply(changes)
            transaction.commit_transaction()

    def rename(self, schema: SchemaName, name: str, target: SchemaName, new_name: str) -> None:
        """Another name, maybe in another schema, which must be there; its files stay where they are."""
        with translated():
            self._open(schema, name)
            self._catalog().rename_table((*schema, name), (*target, new_name))

    def drop(self, schema: SchemaName, name: str) -> None:
        """The entry; files stay."""
        with translated():
            self._catalog().drop_table((*schema, name))

    def purge(self, schema: SchemaName, name: str) -> None:
        """The entry, then data and metadata files."""
        with translated():
            try:
                self._open(schema, name)
            except (ConnectionFailedError, UnsupportedOperationError) as e:
                raise type(e)(f"{e.message}; it can be dropped without purge") from None
            self._catalog().purge_table((*schema, name))

    def _open(self, schema: SchemaName, name: str) -> IcebergTable:
        """pyiceberg's table, for changes; what can't be read at all is told by the same words as in a load."""
        try:
            with translated():
                return self._catalog().load_table((*schema, name))
        except _UNREADABLE as e:
            self._diagnose(schema, name)
            if isinstance(e, ConnectionFailedError):
                raise
            reason = str(e).strip().split("\n")[0]
        raise UnsupportedOperationError(f"Table {self._label(schema, name)} can be read but not changed here: {reason}")

    def _label(self, schema: SchemaName, name: str) -> str:
        return f"{self._context.name}.{join_schema(schema)}.{name}"
