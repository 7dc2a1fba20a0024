#!/bin/sh
# A year in a clinic, on the command line alone: sh examples/clinic.sh [folder]
#
# Files are as clinics write them: semicolons, decimal commas, "-" and "n.d." where a test was not
# made, a column that comes and one that goes. Blood tests cost money, alone or in a panel, and
# every patient is pricked once; age and complaints are known for nothing. The budget ends in
# summer and is raised by the same command. Everything is kept in clinic.db.
set -eu

repository=$(cd "$(dirname "$0")/.." && pwd)
folder=${1:-clinic}
mkdir -p "$folder"
cd "$folder"
command -v thrifty >/dev/null || {  # of the clone that this file is in, else from an index
  python3 -m venv .venv
  . .venv/bin/activate
  [ -f "$repository/pyproject.toml" ] || repository=thrifty
  pip install --quiet "$repository[demo]"
}

say() { printf '\n# %s\n' "$*"; }

say "three months of patients, made up here"
python3 - <<'PYTHON'
import numpy as np

rng = np.random.default_rng(7)
TESTS = ["CRP", "Leukozyten", "Hb", "Kreatinin", "TSH"]


def month(name, n, tests, outcomes):
    age = rng.integers(20, 95, n)
    fever = rng.random(n) < 0.3
    made = {test: rng.lognormal(1, 0.6, n) for test in TESTS}
    odds = 1.6 * np.log(made["CRP"]) - 2.5 + fever + (age - 60) / 25
    sepsis = rng.random(n) < 1 / (1 + np.exp(-odds))
    stay = 3 + 2 * np.log(made["Kreatinin"]) + age / 30 + rng.normal(0, 1, n)
    lines = [";".join(["Patient", "Alter", "Fieber", *tests, *outcomes])]
    truth = ["Patient;Sepsis"]
    for i in range(n):
        values = [f"{made.get(t, np.ones(n))[i]:.1f}".replace(".", ",") for t in tests]
        values = [("-" if rng.random() < 0.5 else "n.d.") if rng.random() < 0.08 else v for v in values]
        said = {"Sepsis": "ja" if sepsis[i] else "nein", "Liegetage": f"{stay[i]:.1f}".replace(".", ",")}
        lines.append(";".join([f"{name}{i}", str(age[i]), "ja" if fever[i] else "nein", *values,
                               *(said[o] for o in outcomes)]))
        truth.append(f"{name}{i};{'ja' if sepsis[i] else 'nein'}")
    open(f"{name}.csv", "w", encoding="utf-8").write("\n".join(lines) + "\n")
    open(f"{name}-truth.csv", "w", encoding="utf-8").write("\n".join(truth) + "\n")


month("januar", 400, TESTS, ["Sepsis", "Liegetage"])
month("mai", 80, [*TESTS, "Ferritin"], [])          # a new test, which no model knows
month("september", 120, TESTS[:-1], ["Sepsis"])     # TSH is made elsewhere by now
PYTHON

cat > clinic.yaml <<'YAML'
store: clinic.db
source: {csv: januar.csv, id: Patient, na: ["-", n.d.]}
prices:
  per_feature: {Alter: 0, Fieber: 0, CRP: 6, Leukozyten: 4, Hb: 4, Kreatinin: 5, TSH: 22}
  orders: {small panel: [9, [CRP, Leukozyten, Hb]]}
  fees: {blood draw: [3, [CRP, Leukozyten, Hb, Kreatinin, TSH]]}
  currency: EUR
budget: 3200 EUR
tasks:
  - {name: Sepsis, label: Sepsis, spend: 1800 EUR, positive: ja}
  - {name: Liegetage, label: Liegetage, spend: 900 EUR}
YAML

say "January: what would it cost? Nothing is bought for the answer"
thrifty quote clinic.yaml

say "learn: how good each model is, and what a prediction costs"
thrifty learn clinic.yaml

say "May: new patients, until the budget ends"
if thrifty predict mai.csv --task Sepsis --id Patient --store clinic.db -o mai-answers.csv; then
  echo "the budget was enough"
else
  say "the same command with a larger budget: nothing is paid for twice"
  thrifty predict mai.csv --task Sepsis --id Patient --store clinic.db -o mai-answers.csv \
    --budget "9000 EUR"
fi
head -3 mai-answers.csv

say "June: their outcomes; one patient was never predicted"
echo "nobody;ja" >> mai-truth.csv
thrifty outcomes mai-truth.csv --task Sepsis --id Patient --store clinic.db

say "September: a column is gone; the model goes on with new rows"
thrifty learn september.csv --label Sepsis --id Patient --store clinic.db --update \
  --spend "400 EUR" --without Liegetage
thrifty store versions clinic.db Sepsis

say "December: the bill, a report, a copy"
thrifty show clinic.db
thrifty bill clinic.db
thrifty report clinic.db -o clinic.html
thrifty store backup clinic.db clinic-december.db
