"""The certificate authorities that the machine trusts, for a Java that knows only those it came with."""

import contextlib
import ssl
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption
from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12Certificate, serialize_java_truststore

# A trust store holds nothing secret, but has to have one.
PASSWORD = "changeit"


@contextmanager
def java_options() -> Iterator[list[str]]:
    """Options for `java` with which it trusts what the machine trusts; none if nothing is known of that."""
    certificates = list(_machine_certificates())
    if not certificates:
        yield []
        return
    with tempfile.NamedTemporaryFile(prefix="headwater-trust-", suffix=".p12") as store:
        entries = [PKCS12Certificate(certificate, str(i).encode()) for i, certificate in enumerate(certificates)]
        store.write(serialize_java_truststore(entries, BestAvailableEncryption(PASSWORD.encode())))
        store.flush()
        yield [f"-Djavax.net.ssl.trustStore={store.name}", f"-Djavax.net.ssl.trustStorePassword={PASSWORD}"]


def _machine_certificates() -> Iterator[x509.Certificate]:
    # Follows SSL_CERT_FILE and SSL_CERT_DIR.
    paths = ssl.get_default_verify_paths()
    files = [Path(paths.cafile)] if paths.cafile else sorted(Path(paths.capath).glob("*.pem")) if paths.capath else []
    for file in files:
        # Not a certificate, or one that breaks the rules: Java might not bear it either.
        with warnings.catch_warnings(), contextlib.suppress(OSError, ValueError):
            warnings.simplefilter("ignore")
            yield from x509.load_pem_x509_certificates(file.read_bytes())
