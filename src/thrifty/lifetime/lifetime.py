"""What users hold: a family, what it has learned, and what that cost."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, overload

from thrifty.agnostic import Rule, as_rule
from thrifty.cells import Balance, Budget, Ledger, Oracle, Receipt
from thrifty.cells.prices.price_list import PricesLike
from thrifty.cells.sources.gaps import with_censored
from thrifty.errors import BadInput, BadParameter
from thrifty.lifetime.answering import Answers, Promise, answer
from thrifty.lifetime.bill import balance, bill_frame, bill_rows, lifetime_html
from thrifty.lifetime.learned import Learned
from thrifty.lifetime.learning import Learning
from thrifty.lifetime.outcomes import Outcomes
from thrifty.lifetime.prediction import JointPrediction, Prediction
from thrifty.lifetime.prediction_runs import HowFar, PredictionRuns, distinct
from thrifty.lifetime.progress import Progress
from thrifty.lifetime.quote import Quote
from thrifty.lifetime.state import LifetimeState
from thrifty.lifetime.task import Task
from thrifty.lifetime.transaction import TaskOptions, Transactions
from thrifty.protocol import AnyFamily, traits_of
from thrifty.stopping import Stop, StoppingRule
from thrifty.stores.base import StoreLike
from thrifty.stores.settings import Settings, row_seed
from thrifty.typing import CensoredLike, KindsLike, LabelsLike, MoneyLike, NaLike, TableLike
from thrifty.wrapped import Metered

if TYPE_CHECKING:
    import pandas

    from thrifty.lifetime.interview import Interview
    from thrifty.lifetime.many import Tasks
    from thrifty.lifetime.prediction_parts import PredictionFiles
    from thrifty.lifetime.purging import Purged


class Lifetime:
    """Learn one task after another, each making the next one cheaper.

    Parameters
    ----------
    family : Family or None
        a family of models, for instance ``thrifty.Trees(max_depth=6)``; default: the store's, else
        ``thrifty.Models()``
    prices : None, number, sequence, mapping or PriceList
        what a cell costs: None (1 each), a number, a sequence, a mapping by feature name or a
        :class:`thrifty.PriceList`; a source that brings its own prices keeps them
    store : None, str, path or Store
        where all of it is kept: a file name (SQLite), a ``postgresql://`` URL, None (memory). A
        store that holds this lifetime is opened again, and several processes may work on it
    budget : Budget, number, str or None
        a :class:`thrifty.Budget`: what may be spent in total, on a task, on an example; an amount,
        ``"5000 EUR"``, is that in total
    name : str
        of the lifetime in its store
    agnostic : Rule or None
        when to forget, for streams with unrelated tasks: ``thrifty.agnostic.Expansion()`` (never,
        the default), ``Restart(k)``, ``Balanced(k, r)`` or ``Doubling()``
    random_state : int or None
        seed of what a family draws, where the family has none of its own
    progress : bool or None
        whether ``learn`` and ``predict`` show a line when they take more than a second: cells,
        money, rate, what is left. None: where the screen is a terminal; False: never

    Raises
    ------
    thrifty.errors.BadInput
        prices or a budget that cannot be read
    thrifty.errors.BadParameter
        a family or rule that is none, or parameters outside their range
    thrifty.errors.StoreError
        no store, or one that cannot be read or written

    Notes
    -----
    A store keeps all of this. What is given again and differs (prices, budget) is a change, and is
    recorded; another family or rule is changed with :meth:`change`.

    See Also
    --------
    thrifty.Models, thrifty.Trees, thrifty.Lists : families
    thrifty.results.Learned : what :meth:`learn` gives
    thrifty.results.Prediction : what :meth:`predict` gives

    Examples
    --------
    >>> import thrifty
    >>> life = thrifty.Lifetime(thrifty.Trees(max_depth=4))
    >>> for task in thrifty.streams.trees(5, 50, 2, 400, 3, random_state=0):
    ...     learned = life.learn(task.name, task.X, task.y)
    >>> learned.route
    'reused'
    >>> len(life), learned.name in life
    (5, True)
    """

    def __init__(
        self,
        family: AnyFamily | None = None,
        *,
        prices: PricesLike = None,
        agnostic: Rule | None = None,
        store: StoreLike = None,
        budget: Budget | MoneyLike = None,
        name: str = "lifetime",
        random_state: int | None = None,
        progress: bool | None = None,
    ) -> None:
        given = Settings(prices, Budget.of(budget), random_state, row_seed(random_state))
        rule = None if agnostic is None else as_rule(agnostic)
        self._furnish(LifetimeState.begun(family, rule, given, store, name), progress)

    @classmethod
    def open(
        cls,
        store: StoreLike,
        *,
        name: str = "lifetime",
        prices: PricesLike = None,
        budget: Budget | MoneyLike = None,
        family: AnyFamily | None = None,
        progress: bool | None = None,
    ) -> Self:
        """A lifetime that is in a store, as it was: family, rule, prices, budget, kinds, seed.

        Only what exists is opened. ``prices`` or ``budget`` that differ are a recorded change;
        ``family=thrifty.Models(estimator)`` brings the estimator of a user again, of which a store
        keeps no more than its name: its models are fitted again on what was bought.

        Raises
        ------
        thrifty.errors.StoreError
            there is no such store or lifetime, or it cannot be read

        See Also
        --------
        thrifty.Lifetime : begins one where there is none
        thrifty.stores.copy_store : to another kind of store

        Examples
        --------
        >>> import tempfile, thrifty
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with thrifty.Lifetime(thrifty.Trees(), store=f"{folder}/life.db") as life:
        ...         _ = life.learn("either", [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 1])
        ...     with thrifty.Lifetime.open(f"{folder}/life.db") as life:
        ...         list(life)
        ['either']
        """
        life = cls.__new__(cls)
        life._furnish(
            LifetimeState.reopened(store, name, Settings(prices, Budget.of(budget)), family),
            progress,
        )
        return life

    def _furnish(self, state: LifetimeState, progress: bool | None) -> None:
        self._state, shown = state, Progress(progress)
        self._runs = PredictionRuns(state, shown)
        self._transactions = Transactions(state, shown)
        self._learning = Learning(self._transactions)
        self._outcomes = Outcomes(state)

    @overload
    def learn(
        self, name: str, X: TableLike, y: LabelsLike | Oracle, *, spend: MoneyLike = None,
        features: Sequence[str] | None = None, kinds: KindsLike = None, na: NaLike = None,
        censored: CensoredLike = None, positive: object = None, sample_weight: object = None,
        groups: object = None, good: bool | None = None,
    ) -> Learned: ...  # fmt: skip

    @overload
    def learn(
        self, name: Sequence[str], X: TableLike, y: Any, *, spend: MoneyLike = None,
        features: Sequence[str] | None = None, kinds: KindsLike = None, na: NaLike = None,
        censored: CensoredLike = None, positive: object = None, good: bool | None = None,
    ) -> dict[str, Learned]: ...  # fmt: skip

    def learn(
        self,
        name: str | Sequence[str],
        X: TableLike,
        y: Any,
        *,
        spend: MoneyLike = None,
        features: Sequence[str] | None = None,
        kinds: KindsLike = None,
        na: NaLike = None,
        censored: CensoredLike = None,
        positive: object = None,
        sample_weight: object = None,
        groups: object = None,
        good: bool | None = None,
    ) -> Learned | dict[str, Learned]:
        """Learn a task: from the representation if it can, from scratch if it must.

        Parameters
        ----------
        name : str or sequence of str
            of the task; several names learn as many labels of the same rows at once: one table is
            bought for all of them, each task's bill carries its share, and a mapping comes back.
            ``y`` is then a frame, a mapping or a 2-D array; NaN and None are rows without that
            label. Families other than ``Models`` learn them one after another
        y : sequence or Oracle
            one label per row; or a :class:`thrifty.Oracle`, who is asked about rows that are worth
            it: labels and cells are then paid from ``spend``
        X : array, frame, scipy sparse matrix or Source
            an array, a frame, scipy sparse or a source. Features with names are matched by them,
            may come in any order, may be more or fewer than before
        spend : None, number or str
            the most that this task may spend in all: a number in the unit of the prices, text such
            as "300 EUR", or a share such as "5 %" of every cell; for learners that can stop
            anywhere. None: the budget's; without one, where cells cost money
            :class:`thrifty.errors.LimitNeeded` says what it would cost, and of cells that have no
            price a tenth is read. The paper's families take what their algorithm needs: of a
            source that costs within a budget only
        features : sequence of str or None
            the columns to use; None: all but those that are labels, or were labels of this source,
            which are left out with a warning
        kinds : mapping or None
            ``{name: "number" | "category" | "boolean" | [categories]}`` says what a feature is
            where its dtype does not. The lifetime keeps it for later tasks and predictions;
            something else is said with :meth:`change`
        na : sequence, mapping or None
            codes that stand for a gap: ``["-", 999]``, or by feature ``{"weight": [999]}``; kept
            as ``kinds`` are. Words in a column that is numeric but for one or two of them are found
            by themselves, with a warning. Rows without a label are left out, with another
        censored : str or None
            how "<5" is read among numbers: "limit", 5; "half", 2.5 (of ">100" the limit); "gap";
            kept as ``na`` is. None: as kept, else the limit, with a warning
        positive : object
            of two classes the one of interest, "ill" for instance; of several tasks one for all, or
            a mapping by name. None: 1, True, yes or ja, else the rarer. It is kept with the task:
            outcomes, quality, scorecard and report are of it
        sample_weight : array-like or None
            how many rows each row counts for; nothing is bought on a row that weighs 0
        groups : array-like or None
            which group each row belongs to, a patient for instance: its rows are left out together
            whenever a model is judged, so that its quality is that on patients it has not seen
        good : bool or None
            changes nothing but the bill, which then says of each task whether it is related to the
            others, where a stream knows that

        Raises
        ------
        thrifty.errors.LimitNeeded
            cells cost money, and neither ``spend`` nor a budget says how much; holds the quote
        thrifty.errors.BudgetExceeded
            the money ended; what was bought is owned, and the same call goes on once there is more
        thrifty.errors.BadInput
            X, y or a parameter does not fit; the message says what was expected
        thrifty.errors.TaskExists
            a task of this name was learned already
        thrifty.errors.PurchaseInDoubt
            nobody knows whether a call was billed: ``thrifty resolve``, or ``life.ledger.resolve``
        thrifty.errors.NotInFamily
            of the paper's families: no model of theirs gives these labels

        See Also
        --------
        thrifty.Lifetime.quote : what it would cost
        thrifty.Lifetime.predict : use what was learned
        thrifty.results.Learned : what comes back

        Notes
        -----
        When this raises no task is recorded and the representation stays. Cells that were paid for
        stay paid: learning again under the same name buys only what is missing.

        Examples
        --------
        >>> import numpy as np
        >>> import thrifty
        >>> X = np.random.default_rng(0).normal(size=(300, 6))
        >>> life = thrifty.Lifetime(prices=thrifty.PriceList("2 EUR"), random_state=0)
        >>> learned = life.learn("ill", X, X[:, 2] + X[:, 4] > 0, spend="900 EUR")
        >>> learned.route, learned.receipt.cost <= 900
        ('bought', True)
        """
        na = with_censored(na, censored)
        said = TaskOptions(spend, features, kinds, na, positive, sample_weight, groups, good)
        if isinstance(name, str) or not isinstance(name, Sequence):
            return self._learning.learn(name, X, y, said)
        if sample_weight is not None or groups is not None:
            raise BadParameter(
                "sample_weight= and groups= are for one label at a time: learn the labels one "
                "after another."
            )
        return self._learning.learn_together([str(one) for one in name], X, y, said)

    def learn_many(
        self,
        tasks: Tasks,
        *,
        n_jobs: int | None = None,
        engine: object = "threads",
        wave: int | None = None,
        spend: MoneyLike = None,
    ) -> list[Learned]:
        """Learn many tasks with several workers; how many there are changes nothing in the result.

        Trees and lists are learned as one by one. ``thrifty.Models`` learns in waves: tasks of a
        wave see what was known at its start, and those over the same table are learned at once.
        ``wave=1`` is one by one.

        Parameters
        ----------
        tasks : iterable
            each (name, X, y), or an object with these attributes
        n_jobs : int or None
            how many workers; -1 is one per core
        engine : str or Client
            "threads", "loky" (processes), "dask", "ray", or a ``distributed.Client``
        wave : int or None
            how many tasks of ``Models`` are learned side by side; None: 8
        spend : None, number or str
            the most that each task may spend, as in :meth:`learn`

        Raises
        ------
        thrifty.errors.BadInput
            tasks, workers or labels that cannot be
        thrifty.errors.BudgetExceeded
            the money ended

        See Also
        --------
        thrifty.Lifetime.learn : one task, or several labels of the same rows

        Examples
        --------
        >>> import thrifty
        >>> life = thrifty.Lifetime(thrifty.Trees(max_depth=4))
        >>> learned = life.learn_many(thrifty.streams.trees(5, 50, 2, 400, 3), n_jobs=2)
        >>> [task.name for task in learned] == list(life)
        True
        """
        from thrifty.lifetime.many import learn_many  # engines are for many tasks

        return learn_many(
            self._learning, tasks, n_jobs=n_jobs, engine=engine, wave=wave, spend=spend
        )

    def refit(self) -> list[str]:
        """Fit earlier tasks again on all that is owned of their rows by now; nothing is bought.

        Cells that later tasks bought lie on the rows of earlier ones. A new model is kept unless
        it clearly loses on rows that the old one never saw; the names of those tasks come back. For
        the latest 64 tasks that this process has learned: a store keeps no labels. For
        ``thrifty.Models``; other families have nothing to fit again.

        See Also
        --------
        thrifty.Lifetime.background : rows to fit on

        Examples
        --------
        >>> import numpy as np
        >>> import thrifty
        >>> X = np.random.default_rng(0).normal(size=(300, 6))
        >>> life = thrifty.Lifetime(random_state=0)
        >>> for f in range(3):
        ...     _ = life.learn(f"above 0 in {f}", X, (X[:, f] > 0).astype(int), spend="10 %")
        >>> spent = life.balance().spent
        >>> len(life.refit()) > 0, life.balance().spent == spent
        (True, True)
        """
        return self._learning.refit()

    def background(self, X: TableLike, *, rows: int, kinds: KindsLike = None) -> Receipt:
        """Buy a control cohort on purpose: so many rows of X whole, drawn without any label.

        What they teach of the features need not be bought again by later tasks; where X has ids,
        later tasks own the rows themselves. For ``thrifty.Models``.

        Raises
        ------
        thrifty.errors.BudgetExceeded
            the money ended; what was bought is owned
        thrifty.errors.BadInput
            a family that remembers no rows

        See Also
        --------
        thrifty.Lifetime.refit : fits earlier tasks again

        Examples
        --------
        >>> import numpy as np
        >>> import thrifty
        >>> life = thrifty.Lifetime()
        >>> life.background(np.eye(50, dtype=bool), rows=20).cells
        1000
        """
        return self._learning.background(X, rows, kinds)

    @overload
    def predict(
        self,
        name: str,
        X: TableLike,
        *,
        stop: Stop = "auto",
        spend: MoneyLike = None,
        per_row: MoneyLike = None,
        missing: str = "warn",
    ) -> Prediction: ...
    @overload
    def predict(
        self,
        name: list[str] | tuple[str, ...],
        X: TableLike,
        *,
        stop: Stop | Mapping[str, StoppingRule] = "auto",
        spend: MoneyLike = None,
        per_row: MoneyLike = None,
        weights: Mapping[str, float] | None = None,
    ) -> JointPrediction: ...
    @overload
    def predict(
        self,
        name: str,
        X: str | PathLike[str],
        *,
        out: str | PathLike[str],
        stop: Stop = "auto",
        per_row: MoneyLike = None,
        engine: object = None,
        n_jobs: int | None = None,
        id: str | None = None,
        source: str | None = None,
        missing: str = "warn",
    ) -> PredictionFiles: ...
    def predict(
        self,
        name: str | list[str] | tuple[str, ...],
        X: TableLike | PathLike[str],
        *,
        stop: Stop | Mapping[str, StoppingRule] = "auto",
        spend: MoneyLike = None,
        per_row: MoneyLike = None,
        weights: Mapping[str, float] | None = None,
        engine: object = None,
        n_jobs: int | None = None,
        out: str | PathLike[str] | None = None,
        id: str | None = None,
        source: str | None = None,
        missing: str = "warn",
    ) -> Prediction | JointPrediction | PredictionFiles:
        """Predict with a task's model, buying what it asks for, row by row, through the ledger.

        With several names one pass of each row serves all of them: one order, one bill, and every
        task reads every cell that is there; see :class:`thrifty.results.JointPrediction`.

        Parameters
        ----------
        name : str, list or tuple of str
            a task, or several to be answered at once
        X : array, frame, scipy sparse matrix, Source, str or path
            an array, a frame or a source; columns in any order where they have names, and only
            those that the model may ask for are needed. A Parquet file, a folder of them or a
            pattern (``"scans/*.parquet"``) is answered in parts, into the folder ``out``
        stop : "auto", Sure, Worth or None
            when an answer is good enough, for instance ``thrifty.Sure(0.95)``. "auto": what is free
            or owned is read, and what costs as far as held-out rows say that it brings something;
            with ``spend`` or ``per_row``, as far as these reach. None: all of the model's features,
            after a warning that says what that costs
        spend, per_row : None, number or str
            the most that may be spent in all and on a row: a number in the unit of the prices, text
            such as "300 EUR", or a share such as "5 %" of all it may ask for
        weights : mapping or None
            of several tasks: what each counts in the common order, ``{"stroke": 3}``; 1 where
            nothing is said
        engine : object
            of a table in parts: who answers them, "threads" (the default), "processes", "dask",
            "ray" or a ``distributed.Client``. Answers and bills are the same with each
        n_jobs : int or None
            how many workers: None is 1, -1 one for each core
        out : str, path or None
            the folder for the answers to a table in parts, one Parquet file for each part. What
            broke off goes on with the same call: a part is booked once, whoever died
        missing : {"warn", "ignore"}
            of columns that X lacks: a warning names them with their share of the model's
            importance, and more than half of it is :class:`thrifty.errors.FeaturesChanged`.
            "ignore" is answered without them
        id, source : str or None
            of a table in parts: the column that names each row, and what it is a name of

        Raises
        ------
        thrifty.errors.UnknownTask
            no task has this name
        thrifty.errors.UnknownFeature
            a column that the model may ask for is missing, and ``missing=`` does not allow it
        thrifty.errors.BudgetExceeded
            the money ended; ``error.prediction`` holds the rows answered so far
        thrifty.errors.BadParameter
            a rule, or a limit, that this model cannot use

        See Also
        --------
        thrifty.Sure, thrifty.Worth : rules for ``stop``
        thrifty.Lifetime.ask : one row, interactively
        thrifty.results.Prediction : what comes back

        Notes
        -----
        A table in parts gives :class:`thrifty.results.PredictionFiles` (docs/howto/scaling_out.md).

        A budget that ends before the last row raises :class:`thrifty.errors.BudgetExceeded`; its
        ``prediction`` holds the rows that are answered.

        Examples
        --------
        >>> import thrifty
        >>> life = thrifty.Lifetime(thrifty.Trees(max_depth=3))
        >>> _ = life.learn("either", [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 1])
        >>> life.predict("either", [[1, 0], [0, 0]])
        Prediction(2 rows, 3 cells bought for 3)
        """
        self._refresh()
        if isinstance(X, str | PathLike) and out is not None:
            from thrifty.lifetime.prediction_parts import PartsAsked, predict_parts

            if not isinstance(name, str) or isinstance(stop, Mapping) or spend is not None:
                raise BadParameter(
                    "a table in parts is answered for one task at a time, with one rule, and "
                    "per_row= in place of spend=: no part knows what the others cost."
                )
            state, task = self._state, self[name]
            given = (task.model, stop, per_row, id, source, task._present)
            asked = PartsAsked(state.family, state.settings, name, *given)
            return predict_parts(asked, X, out, missing, engine, n_jobs, self._runs, state)
        if isinstance(X, str | PathLike) or out is not None:
            raise BadParameter(
                "a table in parts is a Parquet file, a folder of them or a pattern, and out= the "
                f"folder for its answers; got {type(X).__name__} and out={out!r}."
            )
        if any(one is not None for one in (engine, n_jobs, id, source)):
            raise BadParameter(
                "engine=, n_jobs=, id= and source= are for a table in parts: predict(name, "
                "'folder', out='answers', engine=...). A Source has its ids when it is made."
            )
        if not isinstance(name, str):
            models = {one: self[one].model for one in distinct(name)}
            return self._runs.predict_jointly(models, X, HowFar(stop, spend, per_row, weights))
        if weights is not None:
            raise BadParameter("weights are for several tasks: predict([names], X, weights=).")
        if isinstance(stop, Mapping):
            raise BadParameter("a mapping of rules is for several tasks; got one name.")
        task = self[name]
        far = HowFar(stop, spend, per_row)
        return self._runs.predict(name, task.model, X, far, task._present, missing, tell=True)

    def ask(
        self,
        names: str | list[str] | tuple[str, ...],
        *,
        id: str | None = None,
        source: str = "interview",
        stop: StoppingRule | Mapping[str, StoppingRule] | None = None,
        per_row: float | None = None,
        weights: Mapping[str, float] | None = None,
    ) -> Interview:
        """One row, interactively: what to ask next, what it costs, and the answers at any time.

        Parameters
        ----------
        names : str, list or tuple of str
            the tasks to be answered
        id : str or None
            of the row. What is told of it is owned by the store, and an interview that was left
            or broke off goes on where it was
        source : str
            the name of the source that the id belongs to
        stop, weights : StoppingRule, mapping or None
            as in :meth:`predict`
        per_row : float or None
            the most that may be paid for

        Raises
        ------
        thrifty.errors.UnknownTask
            no task has this name
        thrifty.errors.BadParameter
            a model that does not ask in order

        See Also
        --------
        thrifty.Lifetime.predict : all rows of a table

        Examples
        --------
        >>> import numpy as np
        >>> import thrifty
        >>> life = thrifty.Lifetime(random_state=0)
        >>> X = np.random.default_rng(0).normal(size=(300, 4))
        >>> _ = life.learn("ill", X, (X[:, 2] > 0).astype(int))
        >>> life.ask("ill").next.feature
        'x2'
        """
        from thrifty.lifetime.interview import Interview  # models take long to load

        self._refresh()
        tasks = distinct([names] if isinstance(names, str) else names)
        return Interview(
            {one: self[one].model for one in tasks},
            self._runs,
            self._state,
            stop=stop,
            weights=weights,
            per_row=per_row,
            id=id,
            source=source,
        )

    def retire(self, *names: str, undo: bool = False) -> tuple[str, ...]:
        """Say that features can no longer be had: nothing asks for them, nothing is paid for them.

        Models that ask for one go on without it, fitted again on what they own; the receipt of a
        prediction says so (``receipt.lacking``). Returns all that are retired; ``undo=True`` takes
        names back.

        Raises
        ------
        thrifty.errors.UnknownFeature
            no task knows a feature of this name

        See Also
        --------
        thrifty.Lifetime.change : other prices, another budget

        Examples
        --------
        >>> import thrifty
        >>> thrifty.Lifetime().retire("Creatinine")
        ('Creatinine',)
        """
        self._refresh()
        return self._state.retire(names, undo)

    def answer(
        self,
        name: str,
        X: TableLike,
        *,
        oracle: Oracle,
        agree: float | None = None,
        precision: float | None = None,
        recall: float | None = None,
        of: object = None,
        confidence: float = 0.95,
        cascade: Sequence[Oracle] = (),
        spend: MoneyLike = None,
        random_state: int | None = None,
    ) -> Answers:
        """Answer every row, from the model where it may and from the oracle where it must.

        Parameters
        ----------
        oracle : Oracle
            who is right, for money; labels that were bought before cost nothing
        agree : float or None
            at least this share of the answers are the oracle's
        precision, recall : float or None
            of the rows answered with a class at least so many are the oracle's; of the rows that
            are of the class for the oracle at least so many are answered with it
        of : object
            the class that precision and recall are of; None: True
        confidence : float
            all that is asked for holds with this probability at least, over the rows that are drawn
            for it, for these rows and whatever the model is worth
        cascade : sequence of Oracle
            models that may be asked before the oracle, each an ``Oracle(ask, price=, name=,
            confidence=True)``: who of them is asked at all and how far a row goes is learned from
            few rows, for the least money, and the certificate covers the whole chain
            (:mod:`thrifty.certified.cascade` says why). The task's own model is the first of them;
            without a task of this name the cascade answers alone. A question with ``answerers`` as
            oracle is such a cascade: the last of them is the oracle
        spend : None, number or str
            the most that labels and members may cost; where it is not enough there is no
            certificate, and :class:`thrifty.errors.BudgetExceeded` says so
        random_state : int or None
            seed of the rows that are drawn; None: nobody can know them

        Raises
        ------
        thrifty.errors.BadInput
            no target, or one outside (0, 1); an oracle of other classes
        thrifty.errors.BudgetExceeded
            the money ended; labels that were bought are owned

        See Also
        --------
        thrifty.Oracle : who answers
        thrifty.results.Answers : what comes back
        thrifty.Sure : a weaker promise at no cost

        Notes
        -----
        ``thrifty.Sure(0.95)`` is another promise: of rows like those it was learned from, and for
        nothing; this one is of the rows at hand, tested on labels that are bought for it.

        Examples
        --------
        >>> import numpy as np
        >>> import thrifty
        >>> X = np.random.default_rng(0).random((3000, 4))
        >>> y = X[:, 0] > 0.5
        >>> life = thrifty.Lifetime(prices=0)
        >>> _ = life.learn("large", X[:300], y[:300])
        >>> oracle = thrifty.Oracle(lambda rows: y[300:][rows], price="0.01 USD")
        >>> answers = life.answer("large", X[300:], oracle=oracle, agree=0.95, random_state=0)
        >>> answers.certificate.by_model > 2500, bool(np.mean(answers.values == y[300:]) >= 0.95)
        (True, True)
        """
        self._refresh()
        cascade = tuple(cascade) or oracle.cascade
        wanted = Promise(agree, precision, recall, of, confidence)
        prediction, (task, _) = None, self._state.named(name)
        if not cascade or task in self:
            prediction = self._runs.predict(name, self[name].model, X, HowFar())
        state, runs = self._state, self._runs
        return answer(
            state, runs, task, prediction, X, oracle, wanted, spend, random_state, cascade
        )

    def metered(
        self,
        fitted: object,
        source: TableLike,
        *,
        confidence: float | None = None,
        budget: Budget | float | None = None,
    ) -> Metered:
        """Lazy predictions of a foreign tree or forest, paid through this lifetime's ledger.

        ``fitted`` is of scikit-learn, LightGBM or XGBoost (or Thrifty's own), or a
        :class:`thrifty.wrapped.Readable` made of a model of another library; ``confidence`` and
        ``budget`` stop early, as in :func:`thrifty.metered`.

        Raises
        ------
        thrifty.errors.BadInput
            a model of no library that is known
        thrifty.errors.BudgetExceeded
            when predicting: the money ended

        See Also
        --------
        thrifty.metered : without a lifetime

        Examples
        --------
        >>> import numpy as np
        >>> import thrifty
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> X = np.array([[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1]])
        >>> tree = DecisionTreeClassifier(random_state=0).fit(X, [0, 1, 1, 1])
        >>> thrifty.Lifetime().metered(tree, X).predict().tolist()
        [0, 1, 1, 1]
        """
        return self._runs.metered(fitted, source, confidence, budget)

    def quote(
        self,
        name: str,
        X: TableLike,
        y: LabelsLike,
        *,
        spend: MoneyLike = None,
        features: Sequence[str] | None = None,
        kinds: KindsLike = None,
        na: NaLike = None,
        censored: CensoredLike = None,
    ) -> Quote:
        """What a task would cost: cells, money, calls, minutes; nothing is bought or written.

        No provider is called. ``thrifty.Models`` rehearses the task on made-up values with its
        labels, its prices and all that is owned; trees and lists say what it costs reused and what
        from scratch, by what earlier tasks did.

        Parameters
        ----------
        spend, features, kinds, na, censored : as there
            as in :meth:`learn`

        Raises
        ------
        thrifty.errors.BadInput
            X, y or a parameter does not fit; the message says what was expected

        See Also
        --------
        thrifty.Lifetime.learn : does it
        thrifty.results.Quote : what comes back

        Examples
        --------
        >>> import numpy as np
        >>> import thrifty
        >>> life = thrifty.Lifetime(prices=thrifty.PriceList([1, 1, 5], currency="EUR"))
        >>> X = np.random.default_rng(0).normal(size=(200, 3))
        >>> quote = life.quote("ill", X, X[:, 2] > 0, spend="300 EUR")
        >>> quote.cost <= quote.scratch_cost_at_most == 300, len(life), life.balance().spent
        (True, 0, 0.0)
        """
        said = TaskOptions(spend, features, kinds, with_censored(na, censored))
        return self._learning.quote(name, X, y, said)

    def forget(self, name: str) -> None:
        """Forget a task's model, so that it can be learned again; what it bought stays owned.

        Its cost stays in the balance. The representation keeps what it taught.

        Raises
        ------
        thrifty.errors.UnknownTask
            no task has this name
        thrifty.errors.BadInput
            a version instead of a task

        See Also
        --------
        thrifty.Lifetime.retire : features that are gone

        Examples
        --------
        >>> import thrifty
        >>> life = thrifty.Lifetime(thrifty.Trees(max_depth=2))
        >>> _ = life.learn("either", [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 1])
        >>> life.forget("either")
        >>> list(life), life.balance().spent
        ([], 8.0)
        """
        if self[name].name not in self:  # says which tasks there are
            raise BadInput(f"forget a task, not one of its versions; got {name!r}.")
        self._state.saved.forget(name)
        del self._state.tasks[name]
        self._refresh()

    def close(self) -> None:
        """Let go of the store: its file, or the connection to its server.

        All that was learned and bought is in it already. A lifetime that is used again opens it
        again; ``with thrifty.Lifetime.open("clinic.db") as life:`` closes it at the end.

        See Also
        --------
        thrifty.Lifetime.open : opens it again

        Examples
        --------
        >>> import thrifty
        >>> life = thrifty.Lifetime()
        >>> life.close()
        """
        self._state.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def family(self) -> AnyFamily:
        """The family of models that it learns."""
        return self._state.family

    @property
    def agnostic(self) -> Rule:
        """When it forgets."""
        return self._state.rule

    @property
    def budget(self) -> Budget | None:
        """What may be spent."""
        return self._state.settings.budget

    @property
    def prices(self) -> PricesLike:
        """What cells cost, of sources that bring no prices."""
        return self._state.settings.prices

    @property
    def ledger(self) -> Ledger:
        """Every cell ever bought: what is in doubt and how to resolve it, gaps, purges, changes."""
        found = self._state.ledger
        found.purging = self._purge
        return found

    def _purge(self, example: str) -> Purged:
        from thrifty.lifetime.purging import purge_everywhere  # models take long to load

        book, at = self._state.ledger.book, time.time()
        found: Purged = book.write(lambda pages: purge_everywhere(pages, str(example), at))
        shrink = getattr(getattr(book, "store", None), "shrink", None)
        if shrink is not None:
            shrink()
        self._refresh()
        return found

    def report(self, path: str | PathLike[str], *, title: str = "lifetime") -> Path:
        """Write its report: one HTML page that needs no network; returns where it is.

        Raises
        ------
        thrifty.errors.StoreUnwritable
            the file cannot be written

        See Also
        --------
        thrifty.Lifetime.bill : the figures as a table

        Examples
        --------
        >>> import tempfile, thrifty
        >>> life = thrifty.Lifetime(thrifty.Trees(max_depth=3))
        >>> _ = life.learn("either", [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 1])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     "1 task learned" in life.report(f"{folder}/life.html").read_text()
        True
        """
        # The package of reports lies above this one: it is asked for by its name.
        made: Path = import_module("thrifty.report").save_report(self, path, title=title)
        return made

    def balance(self) -> Balance:
        """What was spent, what is reserved for open purchases, what is left; and what all costs.

        See Also
        --------
        thrifty.Lifetime.bill : line by line, with the same sum

        Examples
        --------
        >>> import thrifty
        >>> life = thrifty.Lifetime(budget=thrifty.Budget(total=100))
        >>> life.balance().left
        100.0
        """
        return balance(self._state)

    def change(
        self,
        *,
        family: AnyFamily | None = None,
        agnostic: Rule | None = None,
        prices: PricesLike = None,
        budget: Budget | MoneyLike = None,
        kinds: KindsLike = None,
    ) -> None:
        """Change what the lifetime was given, on purpose; its store records when and what.

        Another family begins with an empty representation. Its models and everything that was
        bought stay.

        Raises
        ------
        thrifty.errors.BadInput
            prices or a budget that cannot be read
        thrifty.errors.BadParameter
            a family or rule that is none

        See Also
        --------
        thrifty.Lifetime.retire : features that are gone

        Examples
        --------
        >>> import thrifty
        >>> life = thrifty.Lifetime(budget=thrifty.Budget(total=100))
        >>> life.change(budget=thrifty.Budget(total=250))
        >>> life.balance().left
        250.0
        """
        rule = None if agnostic is None else as_rule(agnostic)
        self._state.change(family, rule, Settings(prices, Budget.of(budget), kinds=kinds))

    def _refresh(self) -> None:
        """Take in what other processes have learned in the same store."""
        self._state.refresh()

    @property
    def representation(self) -> Any:
        """What past tasks taught: sized, iterable, printable."""
        return self._state.now.representation

    @property
    def tasks(self) -> tuple[Learned, ...]:
        """Every learned task, in the order of learning."""
        return tuple(self._state.tasks.values())

    def __getitem__(self, name: str) -> Task:
        """A task, or one of its versions, ``life["diabetes@2"]``."""
        return Task(name, self._transactions, self._outcomes)

    def __contains__(self, name: object) -> bool:
        return name in self._state.tasks

    def __len__(self) -> int:
        return len(self._state.tasks)

    def __iter__(self) -> Iterator[str]:
        return iter(self._state.tasks)

    def __repr__(self) -> str:
        known, tasks = len(self.representation), len(self)
        learned = f"{tasks} {'task' if tasks == 1 else 'tasks'}"
        memories = traits_of(self.family).remembers
        return f"Lifetime({self.family!r}, {learned}, {known} {memories})"

    def bill(self) -> pandas.DataFrame:
        """A pandas DataFrame: a row per task, per prediction run, and per task not learned.

        See Also
        --------
        thrifty.Lifetime.balance : the sums

        Examples
        --------
        >>> import thrifty
        >>> life = thrifty.Lifetime(thrifty.Trees(max_depth=2))
        >>> _ = life.learn("either", [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 1])
        >>> life.bill()[["task", "route", "cells"]].values.tolist()
        [['either', 'scratch', 8]]
        """
        return bill_frame(self._state)

    def _bill_rows(self) -> list[dict[str, object]]:
        """The same rows as plain data."""
        return bill_rows(self._state)

    def _repr_html_(self) -> str:
        """For notebooks: the balance, and the latest tasks."""
        return lifetime_html(type(self.family).__name__, self.balance(), self.tasks)
