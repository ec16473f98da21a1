"""Archives as tests need them."""

from __future__ import annotations

import io
import tarfile


def a_tar(*members: tarfile.TarInfo | tuple[str, bytes]) -> bytes:
    """A tar of these."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                tar.addfile(member)
            else:
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                tar.addfile(info, io.BytesIO(member[1]))
    return out.getvalue()
