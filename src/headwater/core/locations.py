"""Where a fileset's folders lie: worked out from the catalog's, the schema's and its own locations."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping

from headwater.model.errors import IllegalArgumentError

DEFAULT = "unknown"
"""The name of a location that was given without one."""

DEFAULT_NAME_KEY = "default-location-name"
_PLACEHOLDER = re.compile(r"\{\{(.*?)\}\}")


def normalise(field: str, location: str) -> str:
    """A location as it is kept: with a scheme, without a trailing slash.

    >>> normalise("storageLocation", "/data/raw/"), normalise("storageLocation", "s3://bucket/raw/")
    ('file:/data/raw', 's3://bucket/raw')
    """
    text = location.strip()
    if not text:
        raise IllegalArgumentError(f"{field}: a location may not be empty")
    scheme, separator, rest = text.partition(":")
    if not separator or "/" in scheme:
        scheme, rest = "file", text
    if scheme == "file":
        path = "/" + rest.lstrip("/") if rest.startswith("/") else rest
        if not path.startswith("/"):
            raise IllegalArgumentError(f"{field}: {location!r} must be an absolute path or a URI")
        if ".." in path.split("/"):
            raise IllegalArgumentError(f"{field}: {location!r} may not contain '..'")
        return f"file:{posixpath.normpath(path)}"
    return f"{scheme}:{rest.rstrip('/')}"


def named(properties: Mapping[str, str]) -> dict[str, str]:
    """The locations that a catalog's or a schema's properties give, by location name."""
    prefix = "location-"
    found = {k.removeprefix(prefix): v for k, v in properties.items() if k.startswith(prefix)}
    if "location" in properties:
        found[DEFAULT] = properties["location"]
    return found


def of_schema(catalog: Mapping[str, str], schema: Mapping[str, str], name: str) -> list[str]:
    """The folders of a schema: its own locations, else one below each of the catalog's."""
    own, above = named(schema), named(catalog)
    texts = {**{k: v if "{{" in v else f"{v.rstrip('/')}/{name}" for k, v in above.items()}, **own}
    return [normalise("location", t) for t in texts.values() if "{{" not in t]


def of_fileset(
    names: tuple[str, str, str],
    catalog: Mapping[str, str],
    schema: Mapping[str, str],
    given: Mapping[str, str],
    properties: Mapping[str, str],
) -> dict[str, str]:
    """The folders of a fileset by location name; `names` are those of catalog, schema and fileset."""
    _, schema_name, own_name = names
    above, below = named(catalog), named(schema)
    texts = {k: v if "{{" in v else f"{v.rstrip('/')}/{schema_name}/{own_name}" for k, v in above.items()}
    texts |= {k: v if "{{" in v else f"{v.rstrip('/')}/{own_name}" for k, v in below.items()}
    for name, text in given.items():
        if not name.strip() or not text.strip():
            raise IllegalArgumentError("storageLocations: neither a location's name nor the location may be empty")
        texts[name] = text
    if not texts:
        raise IllegalArgumentError(
            "storageLocation: required, because neither the schema nor the catalog has a location"
        )
    return {k: normalise(f"storageLocations.{k}", _filled(k, t, names, properties)) for k, t in texts.items()}


def _filled(location: str, text: str, names: tuple[str, str, str], properties: Mapping[str, str]) -> str:
    known = dict(zip(("catalog", "schema", "fileset"), names, strict=True))
    prefix = "placeholder-"
    known |= {k.removeprefix(prefix): v for k, v in properties.items() if k.startswith(prefix)}

    def fill(match: re.Match[str]) -> str:
        name = match.group(1)
        if name not in known:
            raise IllegalArgumentError(
                f"storageLocations.{location}: the placeholder {{{{{name}}}}} has no value; set {prefix}{name}"
            )
        return known[name]

    return _PLACEHOLDER.sub(fill, text)


def default_name(locations: Mapping[str, str], properties: Mapping[str, str]) -> str:
    """The name of the location that is meant when none is named."""
    chosen = properties.get(DEFAULT_NAME_KEY)
    if chosen is not None and chosen not in locations:
        raise IllegalArgumentError(f"properties.{DEFAULT_NAME_KEY}: {chosen!r} is not one of {', '.join(locations)}")
    if chosen is None and len(locations) > 1:
        raise IllegalArgumentError(f"properties.{DEFAULT_NAME_KEY}: required with several locations")
    return chosen or next(iter(locations))


def covers(one: str, other: str) -> bool:
    """`other` is `one`, or lies in it."""
    return other == one or other.startswith(one.rstrip("/") + "/")
