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
INSERT INTO "accounts" VALUES(1,'task-0000',0,596000000);
INSERT INTO "accounts" VALUES(1,'task-0001',0,189000000);
INSERT INTO "accounts" VALUES(1,'task-0002',0,183000000);
INSERT INTO "accounts" VALUES(1,'task-0003',0,182000000);
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
INSERT INTO "lifetimes" VALUES(1,'lifetime','{"family": "Trees", "max_depth": 3, "max_nodes": null, "gain": "gini", "improve": "paths", "compare": "race", "accept": {"accept": "Consistent"}, "warm_up": 0, "match": "feature", "missing": "error", "class_weight": null}','["x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11"]',0,'{"representation": {"metafeatures": [{"feature": 2, "false": {"feature": 0, "false": {}, "true": {}}, "true": {}}]}, "counts": {"scratch": 1, "seen": 4, "restarts": 0}, "rule": {"rule": "Restart", "k": 2}}',4,'',0,1150000000,0,0);
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
INSERT INTO "tasks" VALUES(1,0,'task-0000','scratch','{"tree": {"feature": 2, "false": {"feature": 0, "false": {"label": 1, "counts": [0, 44]}, "true": {"label": 0, "counts": [21, 0]}}, "true": {"label": 0, "counts": [55, 0]}}, "classes": [0, 1], "feature_names": ["x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11"]}','{"cells": 596, "cost": 596.0, "reused_cells": 0, "avoided_cells": 844, "max_cells_per_example": 12, "n_examples": 120, "n_features": 12, "per_feature": {"x0": 120, "x1": 32, "x2": 120, "x3": 32, "x4": 25, "x5": 32, "x6": 55, "x7": 32, "x8": 32, "x9": 42, "x10": 32, "x11": 42}, "currency": "", "good": null}','{"reason": "no-candidate", "message": "no metafeature reaches the node at the root"}','18bcb348d15e455abe318c1822ffcd4b',1.79478123499791431426e+09);
INSERT INTO "tasks" VALUES(1,1,'task-0001','reused','{"tree": {"feature": 2, "false": {"feature": 0, "false": {"label": 0, "counts": [21, 0]}, "true": {"label": 1, "counts": [0, 48]}}, "true": {"label": 0, "counts": [51, 0]}}, "classes": [0, 1], "feature_names": ["x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11"]}','{"cells": 189, "cost": 189.0, "reused_cells": 0, "avoided_cells": 1251, "max_cells_per_example": 2, "n_examples": 120, "n_features": 12, "per_feature": {"x0": 69, "x2": 120}, "currency": "", "good": null}',NULL,'084822dfbbe240109739ea1d9e281638',1.79478123500260066986e+09);
INSERT INTO "tasks" VALUES(1,2,'task-0002','reused','{"tree": {"feature": 2, "false": {"feature": 0, "false": {"label": 1, "counts": [0, 21]}, "true": {"label": 0, "counts": [42, 0]}}, "true": {"label": 1, "counts": [0, 57]}}, "classes": [0, 1], "feature_names": ["x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11"]}','{"cells": 183, "cost": 183.0, "reused_cells": 0, "avoided_cells": 1257, "max_cells_per_example": 2, "n_examples": 120, "n_features": 12, "per_feature": {"x0": 63, "x2": 120}, "currency": "", "good": null}',NULL,'ec67795df693415d9a08b2702c8d654e',1.79478123500691914555e+09);
INSERT INTO "tasks" VALUES(1,3,'task-0003','reused','{"tree": {"feature": 2, "false": {"feature": 0, "false": {"label": 0, "counts": [19, 0]}, "true": {"label": 1, "counts": [0, 43]}}, "true": {"label": 0, "counts": [58, 0]}}, "classes": [0, 1], "feature_names": ["x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11"]}','{"cells": 182, "cost": 182.0, "reused_cells": 0, "avoided_cells": 1258, "max_cells_per_example": 2, "n_examples": 120, "n_features": 12, "per_feature": {"x0": 62, "x2": 120}, "currency": "", "good": null}',NULL,'1c468b289582407f9a3f3616312e0be9',1.79478123501272749905e+09);
CREATE INDEX purchases_by_status ON purchases (lifetime, status, sequence);
COMMIT;
