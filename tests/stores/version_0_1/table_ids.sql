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
INSERT INTO "accounts" VALUES(1,'t',0,360000000);
CREATE TABLE cell_columns (
    lifetime INTEGER NOT NULL REFERENCES lifetimes (id),
    kind TEXT NOT NULL,
    number INTEGER NOT NULL,
    boolean INTEGER NOT NULL,
    block BLOB NOT NULL,
    PRIMARY KEY (lifetime, kind, number)
);
INSERT INTO "cell_columns" VALUES(1,'counted',0,1,X'78018B606060A856CACECB2FCF53B25288562A3554D25188B6888DD551502A4BCC294D2DC6102E2ACD8308669A80D41A82D59664E64295A65940456BFF43C007A01570E07AF9124FCFBE5B8E00F68124F1');
INSERT INTO "cell_columns" VALUES(1,'counted',1,1,X'78018B606060A856CACECB2FCF53B25288562A3554D25188B6888DD551502A4BCC294D2DC6102E2ACD8308669A80D41A82D59664E64295A65940456BFF43C007A01570E07AF9124FCFBE5B8E00F68124F1');
INSERT INTO "cell_columns" VALUES(1,'counted',2,1,X'78018B606060A856CACECB2FCF53B25288562A3554D25188B6888DD551502A4BCC294D2DC6102E2ACD8308669A80D41A82D59664E64295A65940456BFF43C007A01570E07AF9124FCFBE5B8E00F68124F1');
INSERT INTO "cell_columns" VALUES(1,'counted',3,1,X'78018B606060A856CACECB2FCF53B25288562A3554D25188B6888DD551502A4BCC294D2DC6102E2ACD8308669A80D41A82D59664E64295A65940456BFF43C007A01570E07AF9124FCFBE5B8E00F68124F1');
INSERT INTO "cell_columns" VALUES(1,'counted',4,1,X'78018B606060A856CACECB2FCF53B25288562A3554D25188B6888DD551502A4BCC294D2DC6102E2ACD8308669A80D41A82D59664E64295A65940456BFF43C007A01570E07AF9124FCFBE5B8E00F68124F1');
INSERT INTO "cell_columns" VALUES(1,'counted',5,1,X'78018B606060A856CACECB2FCF53B25288562A3554D25188B6888DD551502A4BCC294D2DC6102E2ACD8308669A80D41A82D59664E64295A65940456BFF43C007A01570E07AF9124FCFBE5B8E00F68124F1');
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
INSERT INTO "lifetimes" VALUES(1,'lifetime','{"family": "Trees", "max_depth": 3, "max_nodes": null, "gain": "entropy", "improve": "paths", "compare": "all", "accept": {"accept": "Consistent"}, "warm_up": 0, "match": "feature", "missing": "error", "class_weight": null}','["u", "v", "w", "x", "y", "z"]',1,'{"representation": {"metafeatures": [{"feature": 2, "false": {}, "true": {}}]}, "counts": {"scratch": 1, "seen": 1, "restarts": 0}, "rule": {"rule": "Expansion"}}',1,'',0,360000000,0,0);
CREATE TABLE names (
    lifetime INTEGER NOT NULL REFERENCES lifetimes (id),
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (lifetime, kind, name),
    UNIQUE (lifetime, kind, number)
);
INSERT INTO "names" VALUES(1,'example','r0',0);
INSERT INTO "names" VALUES(1,'example','r1',1);
INSERT INTO "names" VALUES(1,'example','r2',2);
INSERT INTO "names" VALUES(1,'example','r3',3);
INSERT INTO "names" VALUES(1,'example','r4',4);
INSERT INTO "names" VALUES(1,'example','r5',5);
INSERT INTO "names" VALUES(1,'example','r6',6);
INSERT INTO "names" VALUES(1,'example','r7',7);
INSERT INTO "names" VALUES(1,'example','r8',8);
INSERT INTO "names" VALUES(1,'example','r9',9);
INSERT INTO "names" VALUES(1,'example','r10',10);
INSERT INTO "names" VALUES(1,'example','r11',11);
INSERT INTO "names" VALUES(1,'example','r12',12);
INSERT INTO "names" VALUES(1,'example','r13',13);
INSERT INTO "names" VALUES(1,'example','r14',14);
INSERT INTO "names" VALUES(1,'example','r15',15);
INSERT INTO "names" VALUES(1,'example','r16',16);
INSERT INTO "names" VALUES(1,'example','r17',17);
INSERT INTO "names" VALUES(1,'example','r18',18);
INSERT INTO "names" VALUES(1,'example','r19',19);
INSERT INTO "names" VALUES(1,'example','r20',20);
INSERT INTO "names" VALUES(1,'example','r21',21);
INSERT INTO "names" VALUES(1,'example','r22',22);
INSERT INTO "names" VALUES(1,'example','r23',23);
INSERT INTO "names" VALUES(1,'example','r24',24);
INSERT INTO "names" VALUES(1,'example','r25',25);
INSERT INTO "names" VALUES(1,'example','r26',26);
INSERT INTO "names" VALUES(1,'example','r27',27);
INSERT INTO "names" VALUES(1,'example','r28',28);
INSERT INTO "names" VALUES(1,'example','r29',29);
INSERT INTO "names" VALUES(1,'example','r30',30);
INSERT INTO "names" VALUES(1,'example','r31',31);
INSERT INTO "names" VALUES(1,'example','r32',32);
INSERT INTO "names" VALUES(1,'example','r33',33);
INSERT INTO "names" VALUES(1,'example','r34',34);
INSERT INTO "names" VALUES(1,'example','r35',35);
INSERT INTO "names" VALUES(1,'example','r36',36);
INSERT INTO "names" VALUES(1,'example','r37',37);
INSERT INTO "names" VALUES(1,'example','r38',38);
INSERT INTO "names" VALUES(1,'example','r39',39);
INSERT INTO "names" VALUES(1,'example','r40',40);
INSERT INTO "names" VALUES(1,'example','r41',41);
INSERT INTO "names" VALUES(1,'example','r42',42);
INSERT INTO "names" VALUES(1,'example','r43',43);
INSERT INTO "names" VALUES(1,'example','r44',44);
INSERT INTO "names" VALUES(1,'example','r45',45);
INSERT INTO "names" VALUES(1,'example','r46',46);
INSERT INTO "names" VALUES(1,'example','r47',47);
INSERT INTO "names" VALUES(1,'example','r48',48);
INSERT INTO "names" VALUES(1,'example','r49',49);
INSERT INTO "names" VALUES(1,'example','r50',50);
INSERT INTO "names" VALUES(1,'example','r51',51);
INSERT INTO "names" VALUES(1,'example','r52',52);
INSERT INTO "names" VALUES(1,'example','r53',53);
INSERT INTO "names" VALUES(1,'example','r54',54);
INSERT INTO "names" VALUES(1,'example','r55',55);
INSERT INTO "names" VALUES(1,'example','r56',56);
INSERT INTO "names" VALUES(1,'example','r57',57);
INSERT INTO "names" VALUES(1,'example','r58',58);
INSERT INTO "names" VALUES(1,'example','r59',59);
INSERT INTO "names" VALUES(1,'feature','u',0);
INSERT INTO "names" VALUES(1,'feature','v',1);
INSERT INTO "names" VALUES(1,'feature','w',2);
INSERT INTO "names" VALUES(1,'feature','x',3);
INSERT INTO "names" VALUES(1,'feature','y',4);
INSERT INTO "names" VALUES(1,'feature','z',5);
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
INSERT INTO "tasks" VALUES(1,0,'t','scratch','{"tree": {"feature": 2, "false": {"label": 0, "counts": [47, 0]}, "true": {"label": 1, "counts": [0, 13]}}, "classes": [0, 1], "feature_names": ["u", "v", "w", "x", "y", "z"]}','{"cells": 360, "cost": 360.0, "reused_cells": 0, "avoided_cells": 0, "max_cells_per_example": 6, "n_examples": 60, "n_features": 6, "per_feature": {"u": 60, "v": 60, "w": 60, "x": 60, "y": 60, "z": 60}, "currency": "", "good": null}','{"reason": "no-candidate", "message": "no metafeature reaches the node at the root"}','2ef99663709c41c5b66375ec46df4c7e',1.79478123529414486879e+09);
CREATE INDEX purchases_by_status ON purchases (lifetime, status, sequence);
COMMIT;
