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
INSERT INTO "accounts" VALUES(1,'noisy',0,1823000000);
INSERT INTO "accounts" VALUES(1,'again',0,601000000);
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
INSERT INTO "lifetimes" VALUES(1,'lifetime','{"family": "Trees", "max_depth": 3, "max_nodes": null, "gain": "entropy", "improve": "paths", "compare": "all", "accept": {"accept": "Verified", "epsilon": 0.125, "delta": 0.1, "certain": false}, "warm_up": 0, "match": "feature", "missing": "error", "class_weight": null}','["x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11"]',0,'{"representation": {"models": [{"tree": {"feature": 5, "false": {"feature": 2, "false": {"label": 0, "counts": [141.0, 21.0]}, "true": {"feature": 0, "false": {"label": 1, "counts": [6, 30]}, "true": {"label": 1, "counts": [0, 19]}}}, "true": {"feature": 2, "false": {"feature": 10, "false": {"label": 1, "counts": [5, 31]}, "true": {"label": 1, "counts": [0, 18]}}, "true": {"feature": 0, "false": {"label": 1, "counts": [3, 18]}, "true": {"label": 1, "counts": [0, 8]}}}}, "core": {"feature": 5, "false": {"feature": 2, "false": {"label": 0, "counts": [141.0, 21.0]}, "true": {"label": 1, "counts": [6.0, 49.0]}}, "true": {"label": 1, "counts": [8.0, 75.0]}}, "explained": 0.4461243203412258, "met": 1}], "tasks": 1, "ones": [3.45, 0.516666667, 43.4, 1.0, 1.483333333, 42.883333333, 2.966666667, 4.45, 3.55, 4.0, 3.45, 1.516666667], "seen": [8.0, 8.0, 155.0, 8.0, 8.0, 155.0, 8.0, 16.0, 8.0, 8.0, 8.0, 8.0], "useful": [0.10070544, 0.030976398, 1.0, 0.037242815, 0.051881786, 1.0, 0.071502515, 0.082505387, 0.099838953, 0.038491033, 0.10070544, 0.052288589]}, "counts": {"scratch": 0, "seen": 2, "restarts": 0}, "rule": {"rule": "Expansion"}}',2,'',0,2424000000,0,0);
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
INSERT INTO "tasks" VALUES(1,0,'noisy','screened','{"tree": {"feature": 5, "false": {"feature": 2, "false": {"label": 0, "counts": [140.04656902411395, 21.953430975886064]}, "true": {"feature": 0, "false": {"label": 1, "counts": [5.953828828828829, 30.04617117117117]}, "true": {"label": 1, "counts": [0.6180933537704372, 18.381906646229563]}}}, "true": {"feature": 2, "false": {"feature": 10, "false": {"label": 1, "counts": [4.807043669435154, 31.192956330564847]}, "true": {"label": 1, "counts": [0.37149544449654986, 17.628504555503447]}}, "true": {"feature": 0, "false": {"label": 1, "counts": [2.85083620423694, 18.14916379576306]}, "true": {"label": 1, "counts": [0.32591183326477446, 7.674088166735226]}}}}, "classes": [0, 1], "feature_names": ["x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11"]}','{"cells": 1823, "cost": 1823.0, "reused_cells": 0, "avoided_cells": 1777, "max_cells_per_example": 12, "n_examples": 300, "n_features": 12, "per_feature": {"x0": 300, "x1": 16, "x2": 300, "x3": 16, "x4": 32, "x5": 300, "x6": 181, "x7": 58, "x8": 178, "x9": 16, "x10": 256, "x11": 170}, "currency": "", "good": null}',NULL,'91a910af85644882b709c6ae935b23fc',1.79478123507821393008e+09);
INSERT INTO "tasks" VALUES(1,1,'again','reused','{"tree": {"feature": 5, "false": {"feature": 2, "false": {"label": 0, "counts": [140.04656902411395, 21.953430975886064]}, "true": {"feature": 0, "false": {"label": 1, "counts": [5.953828828828829, 30.04617117117117]}, "true": {"label": 1, "counts": [0.6180933537704372, 18.381906646229563]}}}, "true": {"feature": 2, "false": {"feature": 10, "false": {"label": 1, "counts": [4.807043669435154, 31.192956330564847]}, "true": {"label": 1, "counts": [0.37149544449654986, 17.628504555503447]}}, "true": {"feature": 0, "false": {"label": 1, "counts": [2.85083620423694, 18.14916379576306]}, "true": {"label": 1, "counts": [0.32591183326477446, 7.674088166735226]}}}}, "classes": [0, 1], "feature_names": ["x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11"]}','{"cells": 601, "cost": 601.0, "reused_cells": 0, "avoided_cells": 2999, "max_cells_per_example": 12, "n_examples": 300, "n_features": 12, "per_feature": {"x0": 8, "x1": 8, "x2": 221, "x3": 8, "x4": 8, "x5": 300, "x6": 8, "x7": 8, "x8": 8, "x9": 8, "x10": 8, "x11": 8}, "currency": "", "good": null}',NULL,'077343f0bea34f0f8e0d301841550a9a',1.79478123508587145799e+09);
CREATE INDEX purchases_by_status ON purchases (lifetime, status, sequence);
COMMIT;
