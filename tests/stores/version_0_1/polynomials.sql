PRAGMA application_id = 1416131193;
PRAGMA user_version = 2;
BEGIN TRANSACTION;
CREATE TABLE accounts (
    lifetime INTEGER NOT NULL REFERENCES lifetimes (id),
    task TEXT NOT NULL,
    reserved INTEGER NOT NULL,
    spent INTEGER NOT NULL,
    PRIMARY KEY (lifetime, task)
);
INSERT INTO "accounts" VALUES(1,'polynomial-0',0,82000000);
INSERT INTO "accounts" VALUES(1,'polynomial-1',0,14000000);
CREATE TABLE cell_columns (
    lifetime INTEGER NOT NULL REFERENCES lifetimes (id),
    kind TEXT NOT NULL,
    number INTEGER NOT NULL,
    boolean INTEGER NOT NULL,
    block BLOB NOT NULL,
    PRIMARY KEY (lifetime, kind, number)
);
CREATE TABLE example_costs (
    lifetime INTEGER NOT NULL REFERENCES lifetimes (id),
    chunk INTEGER NOT NULL,
    amounts BLOB NOT NULL,
    PRIMARY KEY (lifetime, chunk)
);
CREATE TABLE lifetimes (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    family TEXT NOT NULL,
    features TEXT,
    named INTEGER NOT NULL DEFAULT 0,
    representation TEXT NOT NULL,
    version INTEGER NOT NULL DEFAULT 0,
    currency TEXT NOT NULL DEFAULT '',
    reserved INTEGER NOT NULL DEFAULT 0,
    spent INTEGER NOT NULL DEFAULT 0,
    sequence INTEGER NOT NULL DEFAULT 0,
    compacted INTEGER NOT NULL DEFAULT 0
);
INSERT INTO "lifetimes" VALUES(1,'lifetime','{"family": "Polynomials", "max_degree": 2, "max_terms": 2, "distribution": null, "method": "lattice", "label_precision": 1e-09, "risk": 1e-07, "smallest_coefficient": 0.5}','["x0", "x1", "x2", "x3", "x4"]',0,'{"representation": {"columns": [[[1, 1]], [[1, 1], [2, 1]]]}, "counts": {"scratch": 1, "seen": 2, "restarts": 0}, "rule": {"rule": "Expansion"}}',2,'',0,96000000,0,0);
CREATE TABLE names (
    lifetime INTEGER NOT NULL REFERENCES lifetimes (id),
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (lifetime, kind, name),
    UNIQUE (lifetime, kind, number)
);
CREATE TABLE purchases (
    id INTEGER PRIMARY KEY,
    lifetime INTEGER NOT NULL REFERENCES lifetimes (id),
    key TEXT NOT NULL UNIQUE,
    task TEXT NOT NULL,
    provider TEXT NOT NULL,
    status TEXT NOT NULL,
    owner TEXT NOT NULL,
    created_at REAL NOT NULL,
    give_up_at REAL NOT NULL,
    block BLOB NOT NULL,
    reserved INTEGER NOT NULL,
    spent INTEGER NOT NULL,
    answer BLOB,
    note TEXT NOT NULL DEFAULT '',
    settled_at REAL NOT NULL DEFAULT 0,
    sequence INTEGER NOT NULL DEFAULT 0,
    compacted INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE tasks (
    lifetime INTEGER NOT NULL REFERENCES lifetimes (id),
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    route TEXT NOT NULL,
    model TEXT NOT NULL,
    receipt TEXT NOT NULL,
    failure TEXT,
    token TEXT NOT NULL, learned_at REAL NOT NULL DEFAULT 0,
    PRIMARY KEY (lifetime, name)
);
INSERT INTO "tasks" VALUES(1,0,'polynomial-0','scratch','{"kind": "polynomial", "max_degree": 2, "max_terms": 2, "label_precision": 1e-09, "terms": [[[[1, 1]], -0.9949451830781887], [[[1, 1], [2, 1]], -1.9811674852796992]], "feature_names": ["x0", "x1", "x2", "x3", "x4"]}','{"cells": 82, "cost": 82.0, "reused_cells": 0, "avoided_cells": 1918, "max_cells_per_example": 5, "n_examples": 400, "n_features": 5, "per_feature": {"x0": 16, "x1": 17, "x2": 17, "x3": 16, "x4": 16}, "currency": "", "good": null}','{"reason": "empty-representation", "message": "nothing has been learned yet"}','d536502a26334c78935b51d790997aaa',1.79478123513544726369e+09);
INSERT INTO "tasks" VALUES(1,1,'polynomial-1','reused','{"kind": "polynomial", "max_degree": 2, "max_terms": 2, "label_precision": 1e-09, "terms": [[[[1, 1]], -1.8756090812421267], [[[1, 1], [2, 1]], -1.166505081385893]], "feature_names": ["x0", "x1", "x2", "x3", "x4"]}','{"cells": 14, "cost": 14.0, "reused_cells": 0, "avoided_cells": 1986, "max_cells_per_example": 2, "n_examples": 400, "n_features": 5, "per_feature": {"x1": 7, "x2": 7}, "currency": "", "good": null}',NULL,'ddf77bb2e25a40e2927bfd51c9da5fe3',1.79478123514005064964e+09);
CREATE INDEX purchases_by_status ON purchases (lifetime, status, sequence);
COMMIT;
