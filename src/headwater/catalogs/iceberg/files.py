"""Reads and writes metadata files: local ones without Arrow, which costs the server 80 MiB, others with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyiceberg.io import FileIO, InputFile, OutputFile
from pyiceberg.typedef import EMPTY_DICT, Properties

from headwater.catalogs.base import Context
from headwater.model.errors import UnsupportedOperationError

_STORAGE, _CONTEXT = "headwater.storage", "headwater.context"


def file_properties(context: Context, storage: Callable[[], Mapping[str, str]]) -> dict[str, Any]:
    """What a pyiceberg catalog is told, so that it reaches files by our class, and no local ones but those allowed.

    `storage` is asked when a store is reached that is no local folder: its answer may hold credentials that end.
    """
    name = f"{MetadataFiles.__module__}.{MetadataFiles.__qualname__}"
    return {"py-io-impl": name, _STORAGE: storage, _CONTEXT: context}


class MetadataFiles(FileIO):
    """One FileIO for all locations; each kind of store is opened when it is first needed."""

    def __init__(self, properties: Properties = EMPTY_DICT) -> None:
        super().__init__(properties)
        self._local: FileIO | None = None
        self._other: tuple[Mapping[str, str], FileIO] | None = None

    def _for(self, location: str) -> FileIO:
        if location.startswith(("/", "file:")):
            if self._local is None:
                from pyiceberg.io.fsspec import FsspecFileIO

                self._local = FsspecFileIO({})
            if (context := self.properties.get(_CONTEXT)) is not None:
                context.check_local("location", location)
            return self._local
        storage = self.properties.get(_STORAGE, dict)()
        other = self._other
        if other is None or other[0] != storage:
            self._other = other = (storage, _arrow(storage))
        return other[1]

    def new_input(self, location: str) -> InputFile:
        """A file to read."""
        return self._for(location).new_input(location)

    def new_output(self, location: str) -> OutputFile:
        """A file to write."""
        return self._for(location).new_output(location)

    def delete(self, location: str | InputFile | OutputFile) -> None:
        """Remove a file."""
        path = location if isinstance(location, str) else location.location
        self._for(path).delete(location)


class OurFiles:
    """Mixed into pyiceberg's catalogs: whatever a server or a table's properties say, our class reaches the files."""

    properties: Properties

    def _load_file_io(self, properties: Properties = EMPTY_DICT, location: str | None = None) -> FileIO:
        return MetadataFiles(self.properties)


def _arrow(properties: Any) -> FileIO:
    try:
        from pyiceberg.io.pyarrow import PyArrowFileIO
    except ImportError:
        raise UnsupportedOperationError("This server lacks pyarrow: S3 needs pip install 'headwater[s3]'") from None
    return PyArrowFileIO(properties)
