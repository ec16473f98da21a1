"""Keys: made once, private, checked, and never told."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from django.core.exceptions import ImproperlyConfigured

from gpulayer_site.data_folder import secrets_key
from gpulayer_site.keys import checked_keys


def test_a_key_is_made_once_and_private(tmp_path: Path) -> None:
    key = secrets_key(tmp_path / "data")
    assert secrets_key(tmp_path / "data") == key
    assert (tmp_path / "data" / "secrets_key").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["secrets_key"]
    assert checked_keys([key]) == (key,)
    assert Fernet(key).decrypt(Fernet(key).encrypt(b"x")) == b"x"


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param("", id="empty"),
        pytest.param("hunter2", id="a password"),
        pytest.param("A" * 44, id="44 letters that are 33 bytes"),
        pytest.param("ü" * 44, id="not ASCII"),
        pytest.param(Fernet.generate_key().decode()[:-2], id="one that lost its end"),
        pytest.param(Fernet.generate_key().decode() + "AAAA", id="one with more behind it"),
    ],
)
def test_what_is_no_key_is_refused_without_being_shown(wrong: str) -> None:
    good = Fernet.generate_key().decode()
    with pytest.raises(ImproperlyConfigured, match="key 2 of 2") as refused:
        checked_keys([good, wrong])
    assert good not in str(refused.value)
    assert not wrong or wrong not in str(refused.value)
