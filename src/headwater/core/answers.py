"""What verbs are given and what they answer, in Gravitino's v1 wire format."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Annotated

import msgspec

from headwater.catalogs.base import Page
from headwater.core.verbs import Answer
from headwater.engines import EngineSettings
from headwater.model.changes import CatalogChange, FilesetChange, MetalakeChange, SchemaChange, TableChange
from headwater.model.errors import IllegalArgumentError
from headwater.model.names import NameIdentifier
from headwater.model.nouns import Catalog, CatalogType, Fileset, FilesetType, Metalake, Schema
from headwater.model.properties import Property
from headwater.model.tables import Column, Distribution, Index, Partition, Partitioning, SortOrder, Table
from headwater.model.wire import Wire, always

MAX_PAGE = 10_000

StringMap = dict[str, str]

Nothing = Annotated[dict[str, str], msgspec.Meta(max_length=0)] | None
"""Sent by newer clients, always empty unless their user asks for what is not known here."""


class ListQuery(Wire):
    """Which part of a list is wanted; without `limit`, all of it."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=MAX_PAGE)] | None = None
    page_token: str | None = None
    name_prefix: str | None = None

    def page(self) -> Page:
        """The wanted part."""
        return Page(self.limit, _decode_token(self.page_token), self.name_prefix or "")


class DetailsQuery(ListQuery):
    """A list whose entries can be had whole."""

    details: bool = False


class SchemaListQuery(ListQuery):
    """Schemas right below another one; without it, the catalog's own."""

    parent_schema: str | None = None


def _decode_token(token: str | None) -> str:
    if not token:
        return ""
    try:
        padded = token.encode("ascii") + b"=" * (-len(token) % 4)
        name = base64.b64decode(padded, altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        name = "\0"
    if "\0" in name:
        raise IllegalArgumentError("pageToken: not a token that this server gave")
    return name


def next_token(names: Sequence[str], page: Page) -> str | None:
    """The token of the next page, when more names than wanted were found."""
    if page.limit is None or len(names) <= page.limit:
        return None
    return base64.urlsafe_b64encode(names[page.limit - 1].encode()).decode().rstrip("=")


class CreateMetalake(Wire):
    """A new metalake."""

    name: str
    comment: str | None = None
    properties: StringMap | None = None


class CreateCatalog(Wire):
    """A new catalog; `provider` may be left out where the type says it."""

    name: str
    type: CatalogType | None = None
    provider: str | None = None
    comment: str | None = None
    properties: StringMap | None = None


class CreateSchema(Wire):
    """A new schema."""

    name: str
    comment: str | None = None
    properties: StringMap | None = None


class CreateTable(Wire):
    """A new table."""

    name: str
    comment: str | None = None
    columns: list[Column] | None = None
    properties: StringMap | None = None
    sort_orders: list[SortOrder] | None = None
    distribution: Distribution | None = None
    partitioning: list[Partitioning] | None = None
    indexes: list[Index] | None = None


class CreateFileset(Wire):
    """A new fileset."""

    name: str
    comment: str | None = None
    type: FilesetType | None = None
    storage_location: str | None = None
    storage_locations: StringMap | None = None
    properties: StringMap | None = None
    secret_bindings: Nothing = None
    secret_references: Nothing = None


class SetInUse(Wire):
    """Enable or disable."""

    in_use: bool


class AlterMetalake(Wire):
    """Changes of a metalake, applied in order."""

    updates: list[MetalakeChange]


class AlterCatalog(Wire):
    """Changes of a catalog, applied in order."""

    updates: list[CatalogChange]


class AlterSchema(Wire):
    """Changes of a schema, applied in order."""

    updates: list[SchemaChange]


class AlterTable(Wire):
    """Changes of a table, applied in order and all at once."""

    updates: Annotated[list[TableChange], msgspec.Meta(min_length=1)]


class AddPartitions(Wire):
    """New partitions of one table."""

    partitions: Annotated[list[Partition], msgspec.Meta(min_length=1)]


class DropPartitions(Wire):
    """Partitions to be dropped, by name; `purge` their data too."""

    names: Annotated[list[str], msgspec.Meta(min_length=1)]
    purge: bool = False


class AlterFileset(Wire):
    """Changes of a fileset, applied in order."""

    updates: list[FilesetChange]


class TestExisting(Wire):
    """Changes to try, without making them."""

    __test__ = False  # not a test class, whatever pytest thinks
    updates: list[CatalogChange] | None = None


class ForceQuery(Wire):
    """Drop even what is in use or not empty."""

    force: bool = False


class CascadeQuery(Wire):
    """Drop with all that lies in it."""

    cascade: bool = False


class PurgeQuery(Wire):
    """Drop the data too."""

    purge: bool = False


class PrivilegesQuery(Wire):
    """What the caller means to do with the table."""

    privileges: str | None = None


class IdentifiersAnswer(Answer, kw_only=True):
    """Full names."""

    identifiers: list[NameIdentifier] = always(list)
    next_page_token: str | None = None


class MetalakeAnswer(Answer, kw_only=True):
    """One metalake."""

    metalake: Metalake


class MetalakesAnswer(Answer, kw_only=True):
    """Metalakes, whole."""

    metalakes: list[Metalake] = always(list)
    next_page_token: str | None = None


class CatalogAnswer(Answer, kw_only=True):
    """One catalog; `warnings` name properties that nobody declared."""

    catalog: Catalog
    warnings: list[str] = []


class CatalogsAnswer(Answer, kw_only=True):
    """Catalogs, whole."""

    catalogs: list[Catalog] = always(list)
    next_page_token: str | None = None


class EngineSettingsAnswer(Answer, kw_only=True):
    """What an engine must be told of a catalog."""

    engine_settings: EngineSettings


class SchemaAnswer(Answer, kw_only=True):
    """One schema."""

    schema: Schema


class TableAnswer(Answer, kw_only=True):
    """One table."""

    table: Table


class NamesAnswer(Answer, kw_only=True):
    """Names without the chain above them."""

    names: list[str] = always(list)
    next_page_token: str | None = None


class PartitionAnswer(Answer, kw_only=True):
    """One partition."""

    partition: Partition


class PartitionsAnswer(Answer, kw_only=True):
    """Partitions, whole."""

    partitions: list[Partition] = always(list)
    next_page_token: str | None = None


class FilesetAnswer(Answer, kw_only=True):
    """One fileset."""

    fileset: Fileset


class DroppedAnswer(Answer, kw_only=True):
    """Whether there was something to drop."""

    dropped: bool


class DroppedManyAnswer(Answer, kw_only=True):
    """How many were there to be dropped."""

    dropped: int


class Credential(Wire):
    """What it takes to reach a backend."""

    credential_type: str
    expire_time_in_ms: int = always(int)
    credential_info: StringMap = always(dict)


class CredentialsAnswer(Answer, kw_only=True):
    """Credentials of a catalog."""

    credentials: list[Credential] = always(list)


class FileEntry(Wire):
    """One file or folder of a fileset."""

    name: str
    is_dir: bool = always(bool)
    size: int = always(int)
    last_modified: int = always(int)
    path: str = always(str)


class FilesAnswer(Answer, kw_only=True):
    """What lies in a fileset."""

    files: list[FileEntry] = always(list)


class LocationAnswer(Answer, kw_only=True):
    """Where a file of a fileset lies."""

    file_location: str


class ProviderInfo(Wire):
    """A kind of catalog that this server can work with."""

    name: str
    type: CatalogType
    summary: str
    catalog_properties: list[Property] = always(list)
    schema_properties: list[Property] = always(list)
    table_properties: list[Property] = always(list)
    fileset_properties: list[Property] = always(list)


class ProviderAnswer(Answer, kw_only=True):
    """One provider."""

    provider: ProviderInfo


class ProvidersAnswer(Answer, kw_only=True):
    """Providers."""

    providers: list[ProviderInfo] = always(list)
    next_page_token: str | None = None


class FilesQuery(Wire):
    """Which folder of which location."""

    sub_path: str | None = msgspec.field(default=None, name="sub_path")
    location_name: str | None = msgspec.field(default=None, name="location_name")
