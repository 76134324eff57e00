"""What an export holds altogether, so that its import notices if anything was lost, added or repeated."""

from __future__ import annotations

from msgspec import Struct

from model.exchange.kept_version import not_importable


class ExportTotal(Struct):
    """The number of versions, and the sum of their hashes, which does not depend on their order."""

    versions: int = 0
    hashes: int = 0

    def add(self, proof: str) -> None:
        """Count a version by its SHA-256, in hexadecimal digits."""
        self.versions += 1
        self.hashes = (self.hashes + int(proof, 16)) % 2**256

    @property
    def said(self) -> str:
        """Both, as one text for the files."""
        return f"{self.versions} {self.hashes:064x}"

    def check(self, said: object, where: object) -> None:
        """Raise ``Unreadable`` unless ``said``, from the files, is this total."""
        if said == self.said:
            return
        wrote = str(said).partition(" ")[0] if isinstance(said, str) else ""
        count = f"{self.versions:,} {'version' if self.versions == 1 else 'versions'}"
        if not wrote.isdecimal():
            why = f"its export was not finished, or its end was lost after {count}"
        elif int(wrote) == self.versions:
            why = f"its {count} are not the ones that were exported"
        else:
            why = f"it holds {count}, but {int(wrote):,} were exported"
        raise not_importable(where, why)
