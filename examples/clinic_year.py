"""A year in a clinic: a model is learned once and lives on.

    python examples/clinic_year.py [folder] [postgresql://...]

Every month brings a file as clinics write them: semicolons, decimal commas, dashes for what was not
measured, patients listed twice, and no outcome yet for those who are still there. In January a
model of death in hospital is quoted and learned; after that every new patient is predicted, and
outcomes are told a month later. Prices change in April and July, a test is withdrawn in May.
In September a new interface files records under the wrong patient; the monitor finds it. A model
that was updated on such months is rolled back when the interface is mended. At the end the clinic
moves to PostgreSQL (a second file, where no address is given), a patient asks to be forgotten, and
a report goes to the one who pays.

The patients are those of SUPPORT (Knaus and others, 1995) where THRIFTY_DATA holds support2.npz,
and made up otherwise.
"""

from __future__ import annotations

import calendar
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

import thrifty
from thrifty.report import pictures_of, save_pictures, save_report, view_of
from thrifty.stores import copy_store

TASK = "died in hospital"
FREE = ["age", "sex", "dzgroup", "num.co", "dementia", "ca"]
VITALS = {"scoma": 2.0, "meanbp": 2.0, "hrt": 2.0, "resp": 2.0, "temp": 2.0}
BLOOD = {
    "wblc": 2.54, "alb": 4.95, "bili": 5.02, "crea": 5.12, "sod": 4.81, "glucose": 3.93,
    "bun": 3.95, "ph": 18.0, "pafi": 18.0,
}  # fmt: skip
MEASURED = [*VITALS, *BLOOD]
TEXTS = {
    "sex": ["female", "male"],
    "dzgroup": ["ARF/MOSF w/Sepsis", "CHF", "COPD", "Cirrhosis", "Colon Cancer", "Coma",
                "Lung Cancer", "MOSF w/Malig"],
    "ca": ["metastatic", "no", "yes"],
}  # fmt: skip
NUMBERS = ["age", "num.co", "dementia", *MEASURED]
KINDS = {**dict.fromkeys(NUMBERS, "number"), **TEXTS}
MIXED_UP = (9, 10, 11)  # months in which records are filed under the wrong patient


def price_list(draw: float = 9.09, panel: float = 10.56) -> thrifty.PriceList:
    """What the laboratory asks: single tests, two panels, and a fee for drawing blood."""
    chemistry = ["alb", "bili", "crea", "sod", "glucose", "bun"]
    return thrifty.PriceList(
        {**dict.fromkeys(FREE, 0), **VITALS, **BLOOD},
        orders={"metabolic panel": (panel, chemistry), "blood gas": (26.07, ["ph", "pafi"])},
        fees={"blood draw": (draw, list(BLOOD))},
        currency="USD",
    )


def patients(n: int) -> pd.DataFrame:
    """Patients with what was measured and how it ended, real ones where there are any."""
    data = Path(os.environ.get("THRIFTY_DATA", "../shared/data")) / "support2.npz"
    return _real(data, n) if data.is_file() else _made(n)


def _real(path: Path, n: int) -> pd.DataFrame:
    with np.load(path, allow_pickle=False) as found:
        names = [str(name) for name in found["feature_names"]]
        X, died = found["X"].astype(float), found["Y"][:, 0]
    rows = np.random.default_rng(0).permutation(len(X))[:n]
    frame = pd.DataFrame(X[rows], columns=names)[[*FREE, *MEASURED]].round(4)
    for name, words in TEXTS.items():
        frame[name] = [words[int(i)] for i in frame[name]]
    return frame.assign(died=died[rows])


def _made(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.normal(size=n).round(4) for name in [*FREE, *MEASURED]})
    for name, words in TEXTS.items():
        frame[name] = rng.choice(words, n)
    odds = 1.2 * frame["scoma"] - frame["meanbp"] + 0.8 * frame["crea"] + 0.6 * frame["resp"] - 1.7
    frame = frame.mask(rng.random(frame.shape) < 0.1)
    frame[list(TEXTS)] = frame[list(TEXTS)].fillna("no")
    frame["sex"] = frame["sex"].replace("no", "male")
    frame["dzgroup"] = frame["dzgroup"].replace("no", "CHF")
    died = rng.random(n) < 1 / (1 + np.exp(-odds.to_numpy()))
    return frame.assign(died=died.astype(int))


def write_months(folder: Path, each: int) -> list[Path]:
    """Twelve files as a clinic writes them; from September to November results are mixed up."""
    everyone = patients(12 * each)
    everyone.insert(0, "patient", [f"P{i:05}" for i in range(len(everyone))])
    rng, files = np.random.default_rng(1), []
    for month in range(1, 13):
        here = everyone.iloc[(month - 1) * each : month * each].copy()
        if month in MIXED_UP:
            wrong = here.index[rng.random(each) < 0.75]
            record = [*FREE, *MEASURED]
            here.loc[wrong, record] = here.loc[rng.permutation(wrong), record].to_numpy()
        still_there = here.sample(5, random_state=month).index
        here["died"] = here["died"].astype(object)
        here.loc[still_there, "died"] = ""
        here = pd.concat([here, here.iloc[:3]])  # listed twice
        path = folder / f"2025-{month:02}.csv"
        text = here.to_csv(sep=";", decimal=",", index=False, na_rep="-")
        path.write_text(text)
        files.append(path)
    return files


@dataclass
class Month:
    """A file as it was read: rows with ids, and outcomes where they are known."""

    source: thrifty.Source
    ids: list[str]
    died: list[int | None]


def read_month(path: Path) -> Month:
    """Text as it stands in the file: Thrifty reads commas, dashes and ids that come twice."""
    frame = pd.read_csv(path, sep=";", dtype=str, keep_default_na=False)
    source = thrifty.Source.from_frame(
        frame[[*FREE, *MEASURED]], examples=frame["patient"].tolist(), name="ward", kinds=KINDS,
        na=["-"], duplicates="newest", allow_missing=True,
    )  # fmt: skip
    once = frame.drop_duplicates("patient", keep="last")
    known = dict(zip(once["patient"], once["died"]))
    died = [None if known[i] == "" else int(known[i]) for i in source.examples]
    return Month(source, list(source.examples), died)


@dataclass
class Year:
    """What happened, step by step."""

    folder: Path
    life: thrifty.Lifetime
    quote: object = None
    said: dict[int, str] = field(default_factory=dict)  # the monitor's sentence, month by month
    facts: dict[str, object] = field(default_factory=dict)


def moment(month: int) -> float:
    """The first of the month after, in 2025: when its outcomes are known."""
    year, after = (2025, month + 1) if month < 12 else (2026, 1)
    return float(calendar.timegm((year, after, 1, 12, 0, 0)))


def january(year: Year, month: Month) -> None:
    """Quoted, then learned."""
    y = [np.nan if d is None else d for d in month.died]
    year.quote = year.life.quote(TASK, month.source, y, spend="30 %")
    learned = year.life.learn(TASK, month.source, y, spend="30 %")
    year.facts["learned for"] = learned.receipt.cost
    print(year.quote)
    print(f"learned for {learned.receipt.cost:,.2f} USD")


def predicted(year: Year, number: int, month: Month) -> None:
    """New patients are predicted, and a month later it is told how it ended."""
    answers = year.life.predict(TASK, month.source)
    year.facts[f"lacking {number}"] = answers.receipt.lacking
    known = [(i, d) for i, d in zip(month.ids, month.died) if d is not None]
    monitor = year.life[TASK].outcomes(
        [i for i, _ in known], [d for _, d in known], at=moment(number)
    )
    year.said[number] = monitor.sentence
    year.facts[f"AUROC {number}"] = monitor.auroc
    print(f"2025-{number:02}: {monitor}")


def updated(year: Year, months: list[Month], spend: str) -> str:
    """Outcomes are rows for an update."""
    made = None
    for month in months:
        y = [np.nan if d is None else d for d in month.died]
        made = year.life[TASK].update(month.source, y, spend=spend)
        print(made)
    return made.state


def main(folder: str | Path = ".", house: str | None = None, each: int = 300) -> Year:
    """The whole year; returns what happened."""
    folder = Path(folder)
    months = [read_month(path) for path in write_months(folder, each)]
    life = thrifty.Lifetime(
        store=folder / "clinic.db", prices=price_list(), random_state=0, progress=False,
        budget=thrifty.Budget(total="250000 USD"),
    )  # fmt: skip
    year = Year(folder, life)
    january(year, months[0])
    for number in range(2, 13):
        if number == 4:
            life.change(prices=price_list(draw=12.0))
            year.facts["April"] = updated(year, months[1:3], "30 %")
        if number == 5:
            life.retire("alb")  # the laboratory no longer offers it
        if number == 7:
            life.change(prices=price_list(draw=12.0, panel=14.0))
        if number == 12:
            year.facts["November"] = updated(year, [months[10]], "30 %")
            year.facts["versions"] = [v.name for v in life[TASK].versions]
            year.facts["rolled back to"] = life[TASK].rollback().name
        predicted(year, number, months[number - 1])
    year.facts["spent"] = life.balance().spent
    life.close()
    moved(year, house or str(folder / "house.db"))
    labelled = [i for i, d in zip(months[0].ids, months[0].died) if d is not None]
    forgotten(year, labelled[int(year.life[f"{TASK}@1"].model.table_.rows[0])])
    reported(year)
    return year


def moved(year: Year, house: str) -> None:
    """Everything goes to the new house, counted and hashed on both sides."""
    copied = copy_store(year.folder / "clinic.db", house)
    year.facts["copied"] = copied
    year.life = thrifty.Lifetime.open(house, progress=False)
    print(copied)


def forgotten(year: Year, patient: str) -> None:
    """A patient asks to be forgotten."""
    year.facts["patient"], year.facts["purged"] = patient, year.life.ledger.purge(patient)
    print(year.facts["purged"])


def reported(year: Year) -> None:
    """One page for the one who pays, and its pictures."""
    view = view_of(year.life, "The clinic's year")
    save_report(year.life, year.folder / "clinic_year.html", title="The clinic's year")
    year.facts["pictures"] = save_pictures(pictures_of(view), year.folder)


if __name__ == "__main__":
    main(*sys.argv[1:3])
