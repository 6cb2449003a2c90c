"""`custom`: a pyiceberg catalog class that the server's operator allows."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING

from headwater.catalogs.base import Context
from headwater.catalogs.iceberg.backends.base import Backend
from headwater.model.errors import ConnectionFailedError, IllegalArgumentError
from headwater.model.properties import DRIVER_PREFIX, Property

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

GROUP = "headwater.iceberg_catalogs"
"""Entry points by which an installed package offers its catalog class."""

_FIELD = "properties.catalog-backend-impl"


class CustomBackend(Backend):
    """The class is an entry point, by name, or is named in the server's config, as `module.Class`."""

    properties = (
        Property(
            name="catalog-backend-impl",
            description="The pyiceberg catalog class of the backend custom: the name of an entry point of the group "
            f"{GROUP}, or a class module.Class that the server's config allows.",
            required_when={"catalog-backend": ("custom",)},
            immutable=True,
        ),
    )

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._entry_point = _found(context, context.properties["catalog-backend-impl"])

    def connect(self) -> Catalog:
        """Import the class, and give it the catalog's properties: its own keys come with `gravitino.bypass.`."""
        from pyiceberg.catalog import Catalog

        given = self.context.properties
        properties = {k.removeprefix(DRIVER_PREFIX): v for k, v in given.items() if k.startswith(DRIVER_PREFIX)}
        properties |= {k: given[k] for k in ("uri", "warehouse") if k in given}
        try:
            found = self._entry_point.load()
        except (ImportError, AttributeError) as e:
            raise ConnectionFailedError(f"{_FIELD}: {self._entry_point.value} can't be imported: {e}") from None
        if not (isinstance(found, type) and issubclass(found, Catalog)):
            raise ConnectionFailedError(f"{_FIELD}: {self._entry_point.value} is not a pyiceberg catalog class")
        name = given.get("catalog-backend-name", "custom")
        return found(name, **properties, **self.file_properties())


def _found(context: Context, wanted: str) -> EntryPoint:
    offered = {e.name: e for e in entry_points(group=GROUP)}
    if wanted in offered:
        return offered[wanted]
    if wanted in context.allowed_classes:
        module, _, name = wanted.rpartition(".")
        return EntryPoint(wanted, f"{module}:{name}", GROUP)
    allowed = ", ".join(sorted(offered.keys() | context.allowed_classes)) or "none"
    raise IllegalArgumentError(
        f"{_FIELD}: {wanted!r} is not allowed; allowed are entry points of the group {GROUP} and the classes "
        f"named in the server's catalogs.custom-classes: {allowed}"
    )
