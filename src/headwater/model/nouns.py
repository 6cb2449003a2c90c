"""The nouns that Headwater keeps itself: metalake, catalog, schema, fileset, and the audit data of all."""

from __future__ import annotations

import enum

from headwater.model.wire import Wire, always


class CatalogType(enum.Enum):
    """What a catalog holds."""

    RELATIONAL = "relational"
    FILESET = "fileset"
    MESSAGING = "messaging"
    MODEL = "model"

    @classmethod
    def _missing_(cls, value: object) -> CatalogType | None:
        return cls.__members__.get(value.upper()) if isinstance(value, str) else None


class FilesetType(enum.Enum):
    """Who owns a fileset's files: Headwater deletes those of a managed one with it."""

    MANAGED = "managed"
    EXTERNAL = "external"

    @classmethod
    def _missing_(cls, value: object) -> FilesetType | None:
        return cls.__members__.get(value.upper()) if isinstance(value, str) else None


class Audit(Wire):
    """Who made an object and who changed it last; empty where the source does not say."""

    creator: str | None = None
    create_time: str | None = None
    last_modifier: str | None = None
    last_modified_time: str | None = None


class Metalake(Wire):
    """The outermost namespace: one organisation's catalogs."""

    name: str
    comment: str | None = None
    properties: dict[str, str] = always(dict)
    audit: Audit = always(Audit)


class Catalog(Wire):
    """One outside (or managed) catalog. Hidden properties are never in `properties`."""

    name: str
    type: CatalogType
    provider: str
    comment: str | None = None
    properties: dict[str, str] = always(dict)
    audit: Audit = always(Audit)


class Schema(Wire):
    """A database or namespace of a catalog."""

    name: str
    comment: str | None = None
    properties: dict[str, str] = always(dict)
    audit: Audit = always(Audit)


class Fileset(Wire):
    """A named folder of files."""

    name: str
    type: FilesetType = always(lambda: FilesetType.MANAGED)
    comment: str | None = None
    storage_location: str | None = None
    storage_locations: dict[str, str] = always(dict)
    properties: dict[str, str] = always(dict)
    audit: Audit = always(Audit)
