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
INSERT INTO "accounts" VALUES(1,'task-0000',0,4800000000);
INSERT INTO "accounts" VALUES(1,'task-0001',0,119000000);
INSERT INTO "accounts" VALUES(1,'task-0002',0,4800000000);
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
INSERT INTO "lifetimes" VALUES(1,'lifetime','{"family": "Trees", "max_depth": 3, "max_nodes": null, "gain": "entropy", "improve": "paths", "compare": "all", "accept": {"accept": "Tested", "error": 0.1, "confidence": 0.9}, "warm_up": 0, "match": "feature", "missing": "error", "class_weight": null}','["x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11"]',0,'{"representation": {"metafeatures": [{"feature": 10, "false": {}, "true": {"feature": 0, "false": {}, "true": {}}}, {"feature": 11, "false": {"feature": 7, "false": {}, "true": {}}, "true": {"feature": 2, "false": {}, "true": {}}}]}, "counts": {"scratch": 2, "seen": 3, "restarts": 0}, "rule": {"rule": "Doubling"}}',3,'',0,9719000000,0,0);
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
INSERT INTO "tasks" VALUES(1,0,'task-0000','scratch','{"tree": {"feature": 10, "false": {"label": 0, "counts": [203, 0]}, "true": {"feature": 0, "false": {"label": 0, "counts": [44, 0]}, "true": {"label": 1, "counts": [0, 153]}}}, "classes": [0, 1], "feature_names": ["x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11"]}','{"cells": 4800, "cost": 4800.0, "reused_cells": 0, "avoided_cells": 0, "max_cells_per_example": 12, "n_examples": 400, "n_features": 12, "per_feature": {"x0": 400, "x1": 400, "x2": 400, "x3": 400, "x4": 400, "x5": 400, "x6": 400, "x7": 400, "x8": 400, "x9": 400, "x10": 400, "x11": 400}, "currency": "", "good": null}','{"reason": "no-candidate", "message": "no metafeature reaches the node at the root"}','22a3de38fa9e46d19fc61797a7f40752',1.79478123502387976653e+09);
INSERT INTO "tasks" VALUES(1,1,'task-0001','reused','{"tree": {"feature": 10, "false": {"label": 0, "counts": [21, 0]}, "true": {"feature": 0, "false": {"label": 1, "counts": [0, 20]}, "true": {"label": 0, "counts": [7, 0]}}}, "classes": [0, 1], "feature_names": ["x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11"]}','{"cells": 119, "cost": 119.0, "reused_cells": 0, "avoided_cells": 4681, "max_cells_per_example": 2, "n_examples": 400, "n_features": 12, "per_feature": {"x0": 42, "x10": 77}, "currency": "", "good": null}',NULL,'0c029407c5b544939c1ea0e65ed393ff',1.79478123502845549582e+09);
INSERT INTO "tasks" VALUES(1,2,'task-0002','scratch','{"tree": {"feature": 11, "false": {"feature": 7, "false": {"label": 0, "counts": [154, 0]}, "true": {"label": 1, "counts": [0, 47]}}, "true": {"feature": 2, "false": {"label": 1, "counts": [0, 154]}, "true": {"label": 0, "counts": [45, 0]}}}, "classes": [0, 1], "feature_names": ["x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11"]}','{"cells": 4800, "cost": 4800.0, "reused_cells": 0, "avoided_cells": 0, "max_cells_per_example": 12, "n_examples": 400, "n_features": 12, "per_feature": {"x0": 400, "x1": 400, "x2": 400, "x3": 400, "x4": 400, "x5": 400, "x6": 400, "x7": 400, "x8": 400, "x9": 400, "x10": 400, "x11": 400}, "currency": "", "good": null}','{"reason": "no-candidate", "message": "no metafeature reaches the node at depth 1"}','2dd8082c12b341d3a344e19c59f50595',1.79478123503299570084e+09);
CREATE INDEX purchases_by_status ON purchases (lifetime, status, sequence);
COMMIT;
