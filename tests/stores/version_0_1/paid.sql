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
INSERT INTO "accounts" VALUES(1,'first',0,380000000);
CREATE TABLE cell_columns (
    lifetime INTEGER NOT NULL REFERENCES lifetimes (id),
    kind TEXT NOT NULL,
    number INTEGER NOT NULL,
    boolean INTEGER NOT NULL,
    block BLOB NOT NULL,
    PRIMARY KEY (lifetime, kind, number)
);
INSERT INTO "cell_columns" VALUES(1,'feature',0,1,X'78018B606060A856CACECB2FCF53B25288562A3554D25188368D8DD551502A4BCC294D2DC6102E2ACD8308669A80D41A82D59664E64295A65940456BFF83004B65DCBF6F404B18943E9DE7E9D977CB1100299224C5');
INSERT INTO "cell_columns" VALUES(1,'feature',1,1,X'78018B606060A856CACECB2FCF53B25288562A3554D25188368D8DD551502A4BCC294D2DC6102E2ACD8308669A80D41A82D59664E64295A65940456BFF838068FA27D6DB404B18943E9DE7E9D977CB110023422444');
INSERT INTO "cell_columns" VALUES(1,'feature',2,1,X'78018B606060A856CACECB2FCF53B25288562A3554D25188368D8DD551502A4BCC294D2DC6102E2ACD8308669A80D41A82D59664E64295A65940456BFF8340CA079D47ED404B18943E9DE7E9D977CB11002D4924DF');
INSERT INTO "cell_columns" VALUES(1,'feature',3,1,X'78018B606060A856CACECB2FCF53B25288562A3554D25188368D8DD551502A4BCC294D2DC6102E2ACD8308669A80D41A82D59664E64295A65940456BFF830057BB9BA42ED01206A54FE7797AF6DD72040012B52313');
INSERT INTO "cell_columns" VALUES(1,'draw',0,1,X'78018B606060A856CACECB2FCF53B25288562A3554D25188368D8DD551502A4BCC294D2DC6102E2ACD8308669A80D41A82D59664E64295A65940456BFF8300D07C0850FA749EA767DF2D470001DA21F6');
CREATE TABLE example_costs (
    lifetime INTEGER NOT NULL REFERENCES lifetimes (id),
    chunk INTEGER NOT NULL,
    amounts BLOB NOT NULL,
    PRIMARY KEY (lifetime, chunk)
);
INSERT INTO "example_costs" VALUES(1,0,X'7801EDD0210EC2501444D1B70FCCCFD388B641906EA5F90995152D02500D7B60B3781A96505373CC5C33EA9C2262CD71BEBF96E723FB32E474CD7319DAA6BBD4FABE7D3FDB2142F739FCF10C01020408102040800001020408102040800001020408102040800001020408103858E007B4BA53E9');
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
INSERT INTO "lifetimes" VALUES(1,'lifetime','{"family": "Trees", "max_depth": 2, "max_nodes": null, "gain": "entropy", "improve": "paths", "compare": "all", "accept": {"accept": "Consistent"}, "warm_up": 0, "match": "feature", "missing": "error", "class_weight": null}','["a", "b", "c", "d"]',1,'{"representation": {"metafeatures": [{"feature": 1, "false": {}, "true": {}}, {"feature": 2, "false": {}, "true": {}}]}, "counts": {"scratch": 2, "seen": 2, "restarts": 0}, "rule": {"rule": "Expansion"}}',2,'EUR',0,380000000,1,1);
CREATE TABLE names (
    lifetime INTEGER NOT NULL REFERENCES lifetimes (id),
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (lifetime, kind, name),
    UNIQUE (lifetime, kind, number)
);
INSERT INTO "names" VALUES(1,'example','p0',0);
INSERT INTO "names" VALUES(1,'example','p1',1);
INSERT INTO "names" VALUES(1,'example','p2',2);
INSERT INTO "names" VALUES(1,'example','p3',3);
INSERT INTO "names" VALUES(1,'example','p4',4);
INSERT INTO "names" VALUES(1,'example','p5',5);
INSERT INTO "names" VALUES(1,'example','p6',6);
INSERT INTO "names" VALUES(1,'example','p7',7);
INSERT INTO "names" VALUES(1,'example','p8',8);
INSERT INTO "names" VALUES(1,'example','p9',9);
INSERT INTO "names" VALUES(1,'example','p10',10);
INSERT INTO "names" VALUES(1,'example','p11',11);
INSERT INTO "names" VALUES(1,'example','p12',12);
INSERT INTO "names" VALUES(1,'example','p13',13);
INSERT INTO "names" VALUES(1,'example','p14',14);
INSERT INTO "names" VALUES(1,'example','p15',15);
INSERT INTO "names" VALUES(1,'example','p16',16);
INSERT INTO "names" VALUES(1,'example','p17',17);
INSERT INTO "names" VALUES(1,'example','p18',18);
INSERT INTO "names" VALUES(1,'example','p19',19);
INSERT INTO "names" VALUES(1,'example','p20',20);
INSERT INTO "names" VALUES(1,'example','p21',21);
INSERT INTO "names" VALUES(1,'example','p22',22);
INSERT INTO "names" VALUES(1,'example','p23',23);
INSERT INTO "names" VALUES(1,'example','p24',24);
INSERT INTO "names" VALUES(1,'example','p25',25);
INSERT INTO "names" VALUES(1,'example','p26',26);
INSERT INTO "names" VALUES(1,'example','p27',27);
INSERT INTO "names" VALUES(1,'example','p28',28);
INSERT INTO "names" VALUES(1,'example','p29',29);
INSERT INTO "names" VALUES(1,'example','p30',30);
INSERT INTO "names" VALUES(1,'example','p31',31);
INSERT INTO "names" VALUES(1,'example','p32',32);
INSERT INTO "names" VALUES(1,'example','p33',33);
INSERT INTO "names" VALUES(1,'example','p34',34);
INSERT INTO "names" VALUES(1,'example','p35',35);
INSERT INTO "names" VALUES(1,'example','p36',36);
INSERT INTO "names" VALUES(1,'example','p37',37);
INSERT INTO "names" VALUES(1,'example','p38',38);
INSERT INTO "names" VALUES(1,'example','p39',39);
INSERT INTO "names" VALUES(1,'feature','a',0);
INSERT INTO "names" VALUES(1,'feature','b',1);
INSERT INTO "names" VALUES(1,'feature','c',2);
INSERT INTO "names" VALUES(1,'feature','d',3);
INSERT INTO "names" VALUES(1,'draw','panel blood',0);
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
INSERT INTO "purchases" VALUES(1,1,'4ea20e34d940430ea12aa57436c1cb3a','first','provider','settled','vm/2869/36372/c6ca1c2d04304c5ab334274df500177e',1.79478123524261450765e+09,1.7947815552426145077e+09,X'7801EDD0CB6A02311480E1A8AD776DBD54ADF592C6DB66160E58105F45C48E3A05C1766454144ADFA11B1FD5B5FD2755D1AD6B0F7C249C93931CB215427C2B7B637DCE67F642F5645F4D3BCA90FD4E7B3030A4FAB0ADE5CABDACE8C2C87166B6F5A53B56A6EED0F9896BADCFEF314FD9A1EB1C2AFFE74D43BEE9E2D8592C0F2DDDE3D33FCC257CF023803BDC238810C288208A18E2482089073C22853432C8E20939E451C0338A78410965545085C42B146AA8A381265AF0E27C3E1FE1E5F65EBCEF7EBDBDB8ADD7FDC31F6BFB7E31',0,380000000,NULL,'',1.79478123524915361402e+09,1,1);
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
INSERT INTO "tasks" VALUES(1,0,'first','scratch','{"tree": {"feature": 1, "false": {"label": 0, "counts": [19, 0]}, "true": {"label": 1, "counts": [0, 21]}}, "classes": [0, 1], "feature_names": ["a", "b", "c", "d"]}','{"cells": 160, "cost": 380.0, "reused_cells": 0, "avoided_cells": 0, "max_cells_per_example": 4, "n_examples": 40, "n_features": 4, "per_feature": {"a": 40, "b": 40, "c": 40, "d": 40}, "currency": "EUR", "good": null}','{"reason": "no-candidate", "message": "no metafeature reaches the node at the root"}','45ce855634364dc9a2038c178c863687',1.79478123525504565244e+09);
INSERT INTO "tasks" VALUES(1,1,'second','scratch','{"tree": {"feature": 2, "false": {"label": 0, "counts": [22, 0]}, "true": {"label": 1, "counts": [0, 18]}}, "classes": [0, 1], "feature_names": ["a", "b", "c", "d"]}','{"cells": 0, "cost": 0.0, "reused_cells": 160, "avoided_cells": 0, "max_cells_per_example": 0, "n_examples": 40, "n_features": 4, "per_feature": {}, "currency": "EUR", "good": null}','{"reason": "no-candidate", "message": "no metafeature reaches the node at depth 1"}','08a2c8d855ce4e26b6b43e2d5907aa24',1.79478123526288461681e+09);
CREATE INDEX purchases_by_status ON purchases (lifetime, status, sequence);
COMMIT;
