"""The Python client: sync, typed, on the same model as the server.

>>> from headwater import Client
>>> with Client("http://127.0.0.1:8090", metalake="lake") as client:  # doctest: +SKIP
...     client.list_catalogs()
['ice']

Every error is a `HeadwaterError`, of the class that the server raised:

HeadwaterError
├── all of headwater.model.errors    the server's answer: NoSuchTableError, SchemaAlreadyExistsError, ...
├── ConnectionFailedError            the server can't reach the outside catalog
│   └── ServerUnreachableError       no Headwater answered: wrong address, network, TLS, proxy, time-out
└── UnexpectedAnswerError            the answer can't be read: client or server is too old
"""

from headwater.client._catalogs import CatalogHandle, FilesetCatalog, SchemaCatalog, TableCatalog
from headwater.client._client import DEFAULT_URI, Client
from headwater.client._errors import ServerUnreachableError, UnexpectedAnswerError

__all__ = (
    "DEFAULT_URI",
    "CatalogHandle",
    "Client",
    "FilesetCatalog",
    "SchemaCatalog",
    "ServerUnreachableError",
    "TableCatalog",
    "UnexpectedAnswerError",
)
