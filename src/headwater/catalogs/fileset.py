"""Provider `fileset`: named folders on the server's file system."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from headwater.catalogs.base import Context, FileInfo, Provider
from headwater.model.errors import ConnectionFailedError, IllegalArgumentError, IllegalNameError
from headwater.model.nouns import CatalogType
from headwater.model.properties import Properties, Property

_LOCATION = Property(
    name="location",
    description="The folder below which schemas and filesets get their folders; may hold {{catalog}}, {{schema}}, "
    "{{fileset}} and own placeholders.",
)
_NO_UNKNOWN = Property(name="location-unknown", description="Not a name of a location.", reserved=True)


class FilesetProvider(Provider):
    """Schemas and filesets are kept by Headwater; this makes, lists and removes their folders."""

    name = "fileset"
    type = CatalogType.FILESET
    summary = "Named folders of files, managed by Headwater or elsewhere"
    catalog_properties = Properties(
        [
            _LOCATION,
            _NO_UNKNOWN,
            Property(name="location-*", description="A further location, by name.", immutable=True),
            Property(name="default-filesystem-provider", description="Accepted for compatibility; local is served."),
            Property(name="filesystem-providers", description="Accepted for compatibility; local is served."),
        ]
    )
    schema_properties = Properties(
        [
            Property(name="location", description="The folder of the schema.", immutable=True),
            _NO_UNKNOWN,
            Property(name="location-*", description="A further location, by name.", immutable=True),
        ]
    )
    fileset_properties = Properties(
        [
            Property(
                name="default-location-name",
                description="The location that is meant when none is named; required with several.",
                immutable=True,
            ),
            *(
                Property(name=f"placeholder-{n}", description=f"Filled in: the {n}'s name.", reserved=True)
                for n in ("catalog", "schema", "fileset")
            ),
            Property(name="placeholder-*", description="The value of a placeholder of one's own.", immutable=True),
        ]
    )

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        for key, value in context.properties.items():
            if (key == "location" or key.startswith("location-")) and "{{" not in value:
                context.check_local(f"properties.{key}", value)

    def check_name(self, kind: str, name: str) -> None:
        """A slash would put one fileset's folder into another's."""
        if "/" in name:
            raise IllegalNameError(
                f"name: the {kind} name {name!r} is illegal: it may not contain '/' in a fileset catalog"
            )

    def make_folders(self, locations: Sequence[str]) -> None:
        """Make each folder if it is not there."""
        for location in locations:
            path = self._path(location)
            try:
                path.mkdir(parents=True, exist_ok=True)
            except (FileExistsError, NotADirectoryError):
                raise IllegalArgumentError(f"storageLocation: {location!r} is a file, not a folder") from None
            except OSError as e:
                raise IllegalArgumentError(f"storageLocation: {location!r} can't be made: {e.strerror}") from None

    def claim_folders(self, locations: Sequence[str]) -> None:
        """Make each folder; what is there already must be an empty folder."""
        for location in locations:
            try:
                self._check_claim(location)
            except OSError as e:
                raise IllegalArgumentError(f"storageLocation: {location!r} can't be used: {e.strerror}") from None
        self.make_folders(locations)

    def _check_claim(self, location: str) -> None:
        path = self._path(location)
        if (real := path.resolve()) != path:
            # Only under one name can folders that are shared be told from those that are not.
            raise IllegalArgumentError(f"storageLocation: {location!r} leads through a link; name {str(real)!r}")
        if path.is_dir() and any(path.iterdir()):
            raise IllegalArgumentError(
                f"storageLocation: {location!r} is not empty, and what is in the folder of a managed fileset "
                "is removed with it; use type external"
            )

    def remove_folders(self, locations: Sequence[str]) -> None:
        """Remove each folder with all that is in it."""
        for location in locations:
            path = self._path(location)
            try:
                if path.is_symlink():
                    path.unlink()  # what it leads to was never ours
                else:
                    shutil.rmtree(path)
            except FileNotFoundError:
                continue
            except OSError as e:
                raise ConnectionFailedError(f"The folder {location!r} can't be removed: {e.strerror}") from None

    def remove_empty_folders(self, locations: Sequence[str]) -> None:
        """Remove each folder that is there and empty."""
        for location in locations:
            with contextlib.suppress(OSError):  # not there, or not empty: both are fine
                self._path(location).rmdir()

    def list_files(self, location: str, sub_path: str) -> list[FileInfo]:
        """What lies in a folder."""
        root = self._path(location)
        folder = root / sub_path
        if not folder.resolve().is_relative_to(root.resolve()):
            raise IllegalArgumentError(f"sub_path: {sub_path!r} leads out of the fileset")
        try:
            with os.scandir(folder) as entries:
                return sorted((self._info(e) for e in entries), key=lambda f: f.name)
        except (FileNotFoundError, NotADirectoryError):
            raise IllegalArgumentError(f"sub_path: there is no folder {sub_path!r} in the fileset") from None

    def _info(self, entry: os.DirEntry[str]) -> FileInfo:
        stat = entry.stat(follow_symlinks=False)
        is_dir = entry.is_dir(follow_symlinks=False)
        return FileInfo(entry.name, is_dir, 0 if is_dir else stat.st_size, int(stat.st_mtime * 1000), entry.path)

    def _path(self, location: str) -> Path:
        if not location.startswith("file:"):
            raise IllegalArgumentError(
                f"storageLocation: {location!r}: this provider makes folders on the server's own file system (file:)"
            )
        return Path(location.removeprefix("file:"))
