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
INSERT INTO "accounts" VALUES(1,'task-0000',0,1800000000);
INSERT INTO "accounts" VALUES(1,'task-0001',0,211000000);
INSERT INTO "accounts" VALUES(1,'task-0002',0,223000000);
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
INSERT INTO "lifetimes" VALUES(1,'lifetime','{"family": "Lists", "max_depth": 3, "gain": "entropy", "match": "feature", "missing": "error"}','["x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11"]',0,'{"representation": {"metafeatures": [{"feature": 3, "false": {}, "true": {"feature": 4, "false": {}, "true": {}}}]}, "counts": {"scratch": 1, "seen": 3, "restarts": 0}, "rule": {"rule": "Expansion"}}',3,'',0,2234000000,0,0);
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
INSERT INTO "tasks" VALUES(1,0,'task-0000','scratch','{"tree": {"feature": 3, "false": {"label": 1, "counts": [0, 76]}, "true": {"feature": 4, "false": {"label": 1, "counts": [0, 34]}, "true": {"label": 0, "counts": [40, 0]}}}, "classes": [0, 1], "feature_names": ["x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11"]}','{"cells": 1800, "cost": 1800.0, "reused_cells": 0, "avoided_cells": 0, "max_cells_per_example": 12, "n_examples": 150, "n_features": 12, "per_feature": {"x0": 150, "x1": 150, "x2": 150, "x3": 150, "x4": 150, "x5": 150, "x6": 150, "x7": 150, "x8": 150, "x9": 150, "x10": 150, "x11": 150}, "currency": "", "good": null}','{"reason": "no-candidate", "message": "no metafeature reaches the node at the root"}','9fe8dd26b16048f7a9c956dc3473bd53',1.79478123509678792954e+09);
INSERT INTO "tasks" VALUES(1,1,'task-0001','reused','{"tree": {"feature": 3, "false": {"label": 1, "counts": [0, 89]}, "true": {"feature": 4, "false": {"label": 0, "counts": [38, 0]}, "true": {"label": 1, "counts": [0, 23]}}}, "classes": [0, 1], "feature_names": ["x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11"]}','{"cells": 211, "cost": 211.0, "reused_cells": 0, "avoided_cells": 1589, "max_cells_per_example": 2, "n_examples": 150, "n_features": 12, "per_feature": {"x3": 150, "x4": 61}, "currency": "", "good": null}',NULL,'984d2e8cccb947b9b5fdf40c3d27e3ee',1.79478123510218548781e+09);
INSERT INTO "tasks" VALUES(1,2,'task-0002','reused','{"tree": {"feature": 3, "false": {"label": 0, "counts": [77, 0]}, "true": {"feature": 4, "false": {"label": 0, "counts": [35, 0]}, "true": {"label": 1, "counts": [0, 38]}}}, "classes": [0, 1], "feature_names": ["x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11"]}','{"cells": 223, "cost": 223.0, "reused_cells": 0, "avoided_cells": 1577, "max_cells_per_example": 2, "n_examples": 150, "n_features": 12, "per_feature": {"x3": 150, "x4": 73}, "currency": "", "good": null}',NULL,'0cd42fcee6674434acb0188680d613c6',1.79478123510513758662e+09);
CREATE INDEX purchases_by_status ON purchases (lifetime, status, sequence);
COMMIT;
