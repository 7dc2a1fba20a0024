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
INSERT INTO "accounts" VALUES(1,'task-0000',0,1440000000);
INSERT INTO "accounts" VALUES(1,'task-0001',0,1440000000);
INSERT INTO "accounts" VALUES(1,'task-0002',0,308000000);
INSERT INTO "accounts" VALUES(1,'task-0003',0,311000000);
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
INSERT INTO "lifetimes" VALUES(1,'lifetime','{"family": "Trees", "max_depth": 3, "max_nodes": null, "gain": "entropy", "improve": "paths", "compare": "all", "accept": {"accept": "Consistent"}, "warm_up": 0, "match": "feature", "missing": "error", "class_weight": null}','["x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11"]',0,'{"representation": {"metafeatures": [{"feature": 4, "false": {}, "true": {"feature": 7, "false": {}, "true": {}}}, {"feature": 8, "false": {"feature": 11, "false": {}, "true": {}}, "true": {}}]}, "counts": {"scratch": 2, "seen": 4, "restarts": 0}, "rule": {"rule": "Expansion"}}',4,'',0,3499000000,0,0);
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
INSERT INTO "tasks" VALUES(1,0,'task-0000','scratch','{"tree": {"feature": 4, "false": {"label": 0, "counts": [49, 0]}, "true": {"feature": 7, "false": {"label": 0, "counts": [23, 0]}, "true": {"label": 1, "counts": [0, 48]}}}, "classes": [0, 1], "feature_names": ["x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11"]}','{"cells": 1440, "cost": 1440.0, "reused_cells": 0, "avoided_cells": 0, "max_cells_per_example": 12, "n_examples": 120, "n_features": 12, "per_feature": {"x0": 120, "x1": 120, "x2": 120, "x3": 120, "x4": 120, "x5": 120, "x6": 120, "x7": 120, "x8": 120, "x9": 120, "x10": 120, "x11": 120}, "currency": "", "good": null}','{"reason": "no-candidate", "message": "no metafeature reaches the node at the root"}','a8ede1e6ad8d4c1eb9914c4072fdc650',1.79478123490443587303e+09);
INSERT INTO "tasks" VALUES(1,1,'task-0001','scratch','{"tree": {"feature": 8, "false": {"feature": 11, "false": {"label": 0, "counts": [24, 0]}, "true": {"label": 1, "counts": [0, 44]}}, "true": {"label": 0, "counts": [52, 0]}}, "classes": [0, 1], "feature_names": ["x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11"]}','{"cells": 1440, "cost": 1440.0, "reused_cells": 0, "avoided_cells": 0, "max_cells_per_example": 12, "n_examples": 120, "n_features": 12, "per_feature": {"x0": 120, "x1": 120, "x2": 120, "x3": 120, "x4": 120, "x5": 120, "x6": 120, "x7": 120, "x8": 120, "x9": 120, "x10": 120, "x11": 120}, "currency": "", "good": null}','{"reason": "no-candidate", "message": "no metafeature reaches the node at depth 1"}','7a258eebb3ee458f82ff298a36998601',1.79478123492907738678e+09);
INSERT INTO "tasks" VALUES(1,2,'task-0002','reused','{"tree": {"feature": 4, "false": {"label": 1, "counts": [0, 52]}, "true": {"feature": 7, "false": {"label": 1, "counts": [0, 22]}, "true": {"label": 0, "counts": [46, 0]}}}, "classes": [0, 1], "feature_names": ["x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11"]}','{"cells": 308, "cost": 308.0, "reused_cells": 0, "avoided_cells": 1132, "max_cells_per_example": 3, "n_examples": 120, "n_features": 12, "per_feature": {"x4": 120, "x7": 68, "x8": 120}, "currency": "", "good": null}',NULL,'48968c720d4f47578e030f965a65217b',1.79478123494365525243e+09);
INSERT INTO "tasks" VALUES(1,3,'task-0003','reused','{"tree": {"feature": 8, "false": {"feature": 11, "false": {"label": 0, "counts": [48, 0]}, "true": {"label": 1, "counts": [0, 23]}}, "true": {"label": 1, "counts": [0, 49]}}, "classes": [0, 1], "feature_names": ["x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11"]}','{"cells": 311, "cost": 311.0, "reused_cells": 0, "avoided_cells": 1129, "max_cells_per_example": 3, "n_examples": 120, "n_features": 12, "per_feature": {"x4": 120, "x8": 120, "x11": 71}, "currency": "", "good": null}',NULL,'ed790c9b52d042aea15dc572049f3cb3',1.79478123494788551327e+09);
CREATE INDEX purchases_by_status ON purchases (lifetime, status, sequence);
COMMIT;
