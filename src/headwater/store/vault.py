"""Hidden properties at rest: AES-GCM, each value tied to its object and its key's name."""

from __future__ import annotations

import base64
import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

from headwater.model.errors import HeadwaterError

_NONCE = 12


class VaultError(HeadwaterError):
    """A secret can't be read: the key is missing or is another one."""


class Vault:
    """Encrypts and decrypts with one key.

    >>> vault = Vault(bytes(32))
    >>> stored = vault.seal(7, {"jdbc-password": "hunter2"})
    >>> "hunter2" in str(stored), vault.open(7, stored)
    (False, {'jdbc-password': 'hunter2'})
    """

    def __init__(self, key: bytes) -> None:
        if len(key) != 32:
            raise VaultError("secrets.key must be 32 bytes, written in base64")
        self._key = key

    @classmethod
    def from_text(cls, text: str) -> Vault:
        """A vault with a key that the configuration gave."""
        try:
            return cls(base64.b64decode(text.strip(), validate=True))
        except ValueError:
            raise VaultError("secrets.key must be 32 bytes, written in base64") from None

    @classmethod
    def from_file(cls, path: Path) -> Vault:
        """A vault whose key lies beside the embedded store; the file is made if it is not there."""
        with contextlib.suppress(FileExistsError):
            temporary = path.with_name(f".{path.name}.{os.getpid()}")
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            try:
                os.write(handle, base64.b64encode(os.urandom(32)))
                os.fsync(handle)
                os.link(temporary, path)  # never over a key that is there, and never half written
            finally:
                os.close(handle)
                temporary.unlink()
        return cls.from_text(path.read_text())

    def seal(self, object_id: int, values: Mapping[str, str]) -> dict[str, str]:
        """The encrypted form of an object's hidden properties."""
        return {k: self._seal(f"{object_id}/{k}", v) for k, v in values.items()}

    def open(self, object_id: int, stored: Mapping[str, str]) -> dict[str, str]:
        """The hidden properties themselves."""
        return {k: self._open(f"{object_id}/{k}", v) for k, v in stored.items()}

    def _seal(self, label: str, value: str) -> str:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        nonce = os.urandom(_NONCE)
        return base64.b64encode(nonce + AESGCM(self._key).encrypt(nonce, value.encode(), label.encode())).decode()

    def _open(self, label: str, stored: str) -> str:
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        raw = base64.b64decode(stored)
        try:
            return AESGCM(self._key).decrypt(raw[:_NONCE], raw[_NONCE:], label.encode()).decode()
        except InvalidTag:
            raise VaultError(
                f"The secret {label.split('/')[1]!r} can't be decrypted: secrets.key is not the key it was stored with"
            ) from None
