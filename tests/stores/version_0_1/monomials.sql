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
INSERT INTO "accounts" VALUES(1,'monomial-0',0,96000000);
INSERT INTO "accounts" VALUES(1,'monomial-1',0,3000000);
INSERT INTO "accounts" VALUES(1,'monomial-2',0,3000000);
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
INSERT INTO "lifetimes" VALUES(1,'lifetime','{"family": "Monomials", "max_degree": 3, "method": "lattice", "label_precision": 1e-09, "risk": 1e-07, "delta": 0.01, "log_labels": false}','["x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7"]',0,'{"representation": {"columns": [[[0, 1], [5, 1], [6, 1]]]}, "counts": {"scratch": 1, "seen": 3, "restarts": 0}, "rule": {"rule": "Expansion"}}',3,'',0,102000000,0,0);
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
INSERT INTO "tasks" VALUES(1,0,'monomial-0','scratch','{"kind": "monomial", "max_degree": 3, "label_precision": 1e-09, "exponents": [[0, 1], [5, 1], [6, 1]], "feature_names": ["x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7"]}','{"cells": 96, "cost": 96.0, "reused_cells": 0, "avoided_cells": 384, "max_cells_per_example": 8, "n_examples": 60, "n_features": 8, "per_feature": {"x0": 12, "x1": 12, "x2": 12, "x3": 12, "x4": 12, "x5": 12, "x6": 12, "x7": 12}, "currency": "", "good": null}','{"reason": "empty-representation", "message": "nothing has been learned yet"}','a6d6a258cfca45c1ad4c0ae94706dedf',1.7947812351166391372e+09);
INSERT INTO "tasks" VALUES(1,1,'monomial-1','reused','{"kind": "monomial", "max_degree": 3, "label_precision": 1e-09, "exponents": [[0, 1], [5, 1], [6, 1]], "feature_names": ["x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7"]}','{"cells": 3, "cost": 3.0, "reused_cells": 0, "avoided_cells": 477, "max_cells_per_example": 3, "n_examples": 60, "n_features": 8, "per_feature": {"x0": 1, "x5": 1, "x6": 1}, "currency": "", "good": null}',NULL,'cc0864366a4f4694bd1b5d5cf9608e2a',1.79478123512039780618e+09);
INSERT INTO "tasks" VALUES(1,2,'monomial-2','reused','{"kind": "monomial", "max_degree": 3, "label_precision": 1e-09, "exponents": [[0, 1], [5, 1], [6, 1]], "feature_names": ["x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7"]}','{"cells": 3, "cost": 3.0, "reused_cells": 0, "avoided_cells": 477, "max_cells_per_example": 3, "n_examples": 60, "n_features": 8, "per_feature": {"x0": 1, "x5": 1, "x6": 1}, "currency": "", "good": null}',NULL,'0b863f8e862d4c749abff7a7b6f121eb',1.79478123512358808512e+09);
CREATE INDEX purchases_by_status ON purchases (lifetime, status, sequence);
COMMIT;
