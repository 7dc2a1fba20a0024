"""One suite, three stores, no exemptions."""

import pytest

from thrifty.stores import MemoryStore, PostgresStore, SQLiteStore
from thrifty.testing import StoreConformance


class TestMemory(StoreConformance):
    durable = False

    def new_place(self, tmp_path):
        return None

    def open(self, place):
        return MemoryStore()


class TestSQLite(StoreConformance):
    def new_place(self, tmp_path):
        return tmp_path / "store.db"

    def open(self, place):
        return SQLiteStore(place)


class TestPostgres(StoreConformance):
    @pytest.fixture(autouse=True)
    def _server(self, postgres):
        self.server = postgres

    def new_place(self, tmp_path):
        return self.server.new_database()

    def open(self, place):
        return PostgresStore(place)
