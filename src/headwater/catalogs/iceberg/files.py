"""Reads and writes metadata files: local ones without Arrow, which costs the server 80 MiB, others with it."""

from __future__ import annotations

from typing import Any

from pyiceberg.io import FileIO, InputFile, OutputFile
from pyiceberg.typedef import EMPTY_DICT, Properties

from headwater.model.errors import UnsupportedOperationError


class MetadataFiles(FileIO):
    """One FileIO for all locations; each kind of store is opened when it is first needed."""

    def __init__(self, properties: Properties = EMPTY_DICT) -> None:
        super().__init__(properties)
        self._local: FileIO | None = None
        self._other: FileIO | None = None

    def _for(self, location: str) -> FileIO:
        if location.startswith(("/", "file:")):
            if self._local is None:
                from pyiceberg.io.fsspec import FsspecFileIO

                self._local = FsspecFileIO(self.properties)
            return self._local
        if self._other is None:
            self._other = _arrow(self.properties)
        return self._other

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


def _arrow(properties: Any) -> FileIO:
    try:
        from pyiceberg.io.pyarrow import PyArrowFileIO
    except ImportError:
        raise UnsupportedOperationError("This server lacks pyarrow: S3 needs pip install 'headwater[s3]'") from None
    return PyArrowFileIO(properties)
