"""As whom AWS is called: one rule for the server and for the engines that it tells how to reach the same place."""

from __future__ import annotations

import msgspec


class Identity(msgspec.Struct, frozen=True):
    """Keys, else a profile, else whatever the SDK finds by itself; and the role that is assumed by them.

    The fields hold values, or the names of the properties that hold them: the rule is the same.
    """

    access_key_id: str | None = None
    secret_access_key: str | None = None
    session_token: str | None = None
    profile: str | None = None
    role_arn: str | None = None
    external_id: str | None = None
    token_service: str | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that are given."""
        return tuple(k for k in (self.access_key_id, self.secret_access_key, self.session_token) if k is not None)

    @property
    def everything(self) -> tuple[str, ...]:
        """All that is given."""
        more = (self.profile, self.role_arn, self.external_id, self.token_service)
        return (*self.keys, *(k for k in more if k is not None))

    @property
    def has_source(self) -> bool:
        """Whether keys or a profile are given, so that the SDK is not left to find its own."""
        return self.access_key_id is not None or self.profile is not None

    def over(self, other: Identity) -> Identity:
        """This one, filled from another as a whole: its keys or profile and, when no role is given either, its role."""
        if self.has_source:
            return self
        role = self if self.role_arn is not None else other
        return Identity(
            other.access_key_id,
            other.secret_access_key,
            other.session_token,
            other.profile,
            role.role_arn,
            role.external_id,
            role.token_service,
        )
