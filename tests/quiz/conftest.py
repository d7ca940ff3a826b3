"""The small bank of every kind of question, loaded once."""

from __future__ import annotations

import pytest
import small_bank

from fa_toolkit.quiz import Bank, load_bank


@pytest.fixture(scope="session")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Bank:
    return load_bank(small_bank.write_bank(tmp_path_factory.mktemp("bank")))
