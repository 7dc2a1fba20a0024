"""What every source can do: say its size and names, and read a block of values."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from os import PathLike
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from thrifty import kernels
from thrifty.cells.prices.price_list import PricesLike
from thrifty.cells.sources.checks import (
    Duplicates,
    Values,
    checked_ids,
    checked_source_name,
    checked_values,
)
from thrifty.errors import BadInput, BadParameter
from thrifty.typing import (
    AnyArray,
    Bools,
    CensoredLike,
    FrameLike,
    Ints,
    KindsLike,
    NaLike,
    PresentLike,
    TableLike,
    Words,
)

if TYPE_CHECKING:
    import sqlalchemy

    from thrifty.cells.sources.callable import CallableSource
    from thrifty.cells.sources.prompts import QuestionsLike
    from thrifty.cells.sources.questions import QuestionSource, TextsLike


class Source(ABC):
    """Values of n_features features on n_examples examples.

    A source is not asked directly: it is handed to a :class:`~thrifty.cells.Cells` reader, which
    charges for what it passes on.

    Attributes
    ----------
    feature_names : tuple of str
        one for each feature
    boolean : array of bool
        one per feature; the others are numbers or categories
    categories : mapping
        of each feature that is a category, by index: what its cells' numbers stand for
    named : bool
        whether the names came from the user (a frame, or ``feature_names=``)
    free : bool
        whether reading costs nothing; what costs is read through a ledger alone
    examples : tuple of str or None
        ids, where the examples have them: the same id in two tasks is the same example
    index : sequence or None
        of the frame it was made of, where that has one: which row is which
    unread : dict of str and BadInput
        columns that were brought and are no features, and what to say where one is needed
    name : str
        of a source whose examples have ids: a cell is (source name, example id, feature name),
        owned by the store, whichever table or provider of that name it comes from

    Raises
    ------
    thrifty.errors.BadInput
        in the ``from_`` methods: a table, ids or kinds that cannot be read

    See Also
    --------
    thrifty.PriceList : what its cells cost
    thrifty.protocol.Cells : the reader that charges

    Examples
    --------
    >>> import thrifty
    >>> ward = thrifty.Source.from_array([[1, 0.5], [0, 2.5]], feature_names=["fever", "CRP"])
    >>> ward.feature_names, ward.n_examples
    (('fever', 'CRP'), 2)
    """

    feature_names: tuple[str, ...]
    boolean: Bools
    named: bool = False
    free: bool = True
    examples: tuple[str, ...] | None = None
    index: Any = None
    name: str = ""
    categories: Mapping[int, tuple[str, ...]] = MappingProxyType({})
    unread: Mapping[str, BadInput] = MappingProxyType({})
    #: codes that were said to be gaps and words that were taken for them: a lifetime keeps them
    gaps: Mapping[str, Sequence[object]] = MappingProxyType({})
    #: kinds that were told of features when the source was made: a lifetime keeps them
    told_kinds: Mapping[str, str] = MappingProxyType({})
    #: whether a cell keeps its value for good, or the newest that came counts
    values: Values = "fixed"
    #: where ids came more than once: the rows that were kept, and of how many
    kept: tuple[Ints, int] | None = None
    #: (examples, features) which cells exist, where that is known beforehand; None: not known
    present: Bools | None = None

    def __init__(self, n_examples: int, feature_names: Sequence[str], boolean: Bools) -> None:
        self.n_examples = n_examples
        self.feature_names = tuple(feature_names)
        self.boolean = boolean

    @property
    def n_features(self) -> int:
        return len(self.feature_names)

    @abstractmethod
    def read(self, rows: Ints, features: Ints) -> AnyArray:
        """Values of a block: (len(rows), len(features))."""

    def columns(self, features: Ints) -> Words:
        """Boolean features packed over all examples: (len(features), W)."""
        values = self.read(np.arange(self.n_examples), features)
        return kernels.pack_columns(values, np.arange(len(features)))

    def tiles(self) -> Words:
        """Every feature of every example, packed in tiles; Boolean sources only."""
        return tiles_by_columns(self.columns, self.n_features, self.n_examples)

    def table(self) -> AnyArray:
        """Every value: (S, N). Not to be written to."""
        return self.read(np.arange(self.n_examples), np.arange(self.n_features))

    def of_rows(self, rows: Ints) -> Source:
        """Some of its examples, in the order of ``rows``; nothing is read.

        >>> some = Source.from_array(np.eye(3)).of_rows(np.array([2, 0]))
        >>> some.read(np.arange(2), np.arange(3)).tolist()
        [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
        """
        return SomeRows(self, rows)

    def recoded(self, known: Mapping[str, Sequence[str]]) -> Source:
        """This source with its categories in the places that they have elsewhere.

        What is not known elsewhere comes after it. A lifetime's tasks so agree on what a cell of a
        category means, whichever categories each of them holds.
        """
        if not known:
            return self
        from thrifty.cells.sources.array import RecodedSource

        names, here = self.feature_names, self.categories
        self._same_kinds(known)
        if all(c[: len(w)] == w for f, c in here.items() if (w := tuple(known.get(names[f], ())))):
            return self
        if not self.free:
            raise BadInput(
                "a paid source names the categories of a feature in the order that they had "
                f"before; known are { ({n: list(c) for n, c in known.items()}) }. Give kinds= that "
                "order, new ones last."
            )
        return RecodedSource(self, known)

    def _same_kinds(self, known: Mapping[str, Sequence[str]]) -> None:
        """A feature that is a category elsewhere must not come as numbers: they mean nothing."""
        at = {name: f for f, name in enumerate(self.feature_names) if name in known}
        for name, f in at.items():
            if f in self.categories or name in self.unread or not self.free:
                continue
            values = self.read(np.arange(self.n_examples), np.array([f]))
            if not np.isnan(values.astype(np.float64)).all():
                raise BadInput(
                    f"{name!r} is a category ({', '.join(list(known[name])[:5])}); X holds numbers "
                    f"there. Bring its text, or say kinds={{{name!r}: 'category'}}."
                )

    def known_as(
        self,
        examples: Iterable[object] | None,
        name: str | None = None,
        duplicates: Duplicates = "refuse",
        values: Values = "fixed",
        present: PresentLike | None = None,
    ) -> Source:
        """This source, its examples known by ids from now on, and which cells exist."""
        ids = None if examples is None else list(examples)
        if present is not None:
            from thrifty.cells.sources.gaps import PresentSource, read_present

            mask = read_present(present, ids, self.feature_names, self.n_examples)
            told = self if mask is None else PresentSource(self, mask)
            return told.known_as(ids, name, duplicates, values)
        self.values = checked_values(values)
        self.name = checked_source_name(name, needed=ids is not None)
        if ids is None:
            return self
        once = rows_to_keep(ids, duplicates) if len(ids) == self.n_examples else None
        if once is None:
            self.examples = checked_ids(ids, self.n_examples)
            return self
        some = self.of_rows(once)
        some.examples, some.kept = checked_ids([ids[i] for i in once], len(once)), (once, len(ids))
        return some

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.n_examples} examples x {self.n_features} features)"

    @staticmethod
    def from_array(
        X: TableLike,
        *,
        feature_names: Sequence[str] | None = None,
        examples: Iterable[object] | None = None,
        name: str | None = None,
        allow_missing: bool = False,
        kinds: KindsLike = None,
        na: NaLike = None,
        censored: CensoredLike = None,
        duplicates: Duplicates = "refuse",
        present: PresentLike | None = None,
        values: Values = "fixed",
    ) -> Source:
        """A numpy array or a scipy sparse matrix.

        Columns that hold only 0 and 1 are Boolean, others are numbers, those of text categories;
        ``kinds={name: "number" | "boolean" | "category" | [categories]}`` says otherwise.
        ``examples`` are ids and need a ``name`` for the source they are ids of. ``na`` are codes
        that stand for a gap, ``["-", 999]`` or ``{"weight": [999]}``. ``censored`` says how "<5"
        is read among numbers: as the "limit" (unless said), as "half" of it, or as a "gap".
        ``duplicates`` says what to do where an id comes more than once: "refuse", or take its
        "first" or "newest" (last) row.
        ``values`` says what a cell is: "fixed", so that another value for a known id is an error
        that names the cells, or "newest", so that it counts from then on; it is not paid again, and
        what was learned on stays as it was.

        ``present`` says which cells exist where that is known before anything is bought: a Boolean
        mask of examples x features, a frame of one, or a function ``(ids, feature_names) -> mask``
        (of row numbers, where there are no ids). The others are gaps, known and free.

        >>> Source.from_array(np.eye(3, dtype=bool))
        ArraySource(3 examples x 3 features)
        """
        from thrifty.cells.sources.array import ArraySource, SparseSource
        from thrifty.cells.sources.gaps import with_censored

        made: Source
        if hasattr(X, "tocsr"):
            made = SparseSource(X, feature_names)
        else:
            gaps = allow_missing or present is not None
            na = with_censored(na, censored)
            made = ArraySource(X, feature_names, allow_missing=gaps, kinds=kinds, na=na)
        return made.known_as(examples, name, duplicates, values, present)

    @staticmethod
    def from_frame(
        frame: FrameLike,
        *,
        examples: Iterable[object] | None = None,
        name: str | None = None,
        allow_missing: bool = False,
        kinds: KindsLike = None,
        lazily: bool = False,
        na: NaLike = None,
        censored: CensoredLike = None,
        duplicates: Duplicates = "refuse",
        present: PresentLike | None = None,
        values: Values = "fixed",
    ) -> Source:
        """A pandas or polars frame; its columns name the features and their dtypes say their kind.

        ``kinds={name: "number" | "boolean" | "category" | [categories]}`` says otherwise.

        ``examples`` are ids, for instance ``frame.index``, and need a ``name`` for the source: the
        same id of the same source is the same example, and what was paid for it is not counted
        again. ``lazily``: a column that is no feature, dates for instance, is an error only when it
        is needed. ``na`` are codes that stand for a gap, ``["-", 999]`` or ``{"weight": [999]}``;
        ``censored`` says how "<5" is read, as in :meth:`from_array`.
        ``duplicates`` says what to do where an id comes more than once: "refuse", or take its
        "first" or "newest" (last) row; labels may then come for all the rows, or for those kept.
        ``present`` says which cells exist, as in :meth:`from_array`; ``present=frame.notna()``
        where whatever is empty is known to be.
        ``values``, "fixed" or "newest", as in :meth:`from_array`.
        """
        from thrifty.cells.sources.array import ArraySource
        from thrifty.cells.sources.gaps import with_censored

        gaps = allow_missing or present is not None
        na = with_censored(na, censored)
        source = ArraySource(
            frame, allow_missing=gaps, kinds=kinds, na=na, frame=True, lazily=lazily
        )
        source.index = getattr(frame, "index", None)
        return source.known_as(examples, name, duplicates, values, present)

    @staticmethod
    def from_packed(path: str | PathLike[str]) -> Source:
        """A folder made by ``thrifty store pack``: very wide data, read column by column."""
        from thrifty.cells.sources.packed_file import PackedSource

        return PackedSource(path)

    @staticmethod
    def from_parquet(
        path: str | PathLike[str],
        *,
        features: Sequence[str] | None = None,
        without: Collection[str] = (),
        allow_missing: bool = False,
        kinds: KindsLike = None,
    ) -> Source:
        """A Parquet file, of which only the columns that are looked at are read.

        Parameters
        ----------
        features, without : sequence of str or None and collection of str
            the columns to use (None: all), and those to leave out
        kinds : mapping or None
            ``{name: "number" | "boolean" | "category" | [categories]}``; columns of text are
            categories without being told, those that hold only 0 and 1 are Boolean
        """
        from thrifty.cells.sources.parquet import ParquetSource

        return ParquetSource(
            path, features=features, without=without, allow_missing=allow_missing, kinds=kinds
        )

    @staticmethod
    def from_sql(
        database: str | sqlalchemy.Engine,
        table: str,
        *,
        id: str | None = None,
        features: Sequence[str] | None = None,
        without: Collection[str] = (),
        schema: str | None = None,
        name: str | None = None,
        allow_missing: bool = False,
        kinds: KindsLike = None,
        values: Values = "fixed",
    ) -> Source:
        """A table of a database, of which only the columns that are looked at are read.

        Parameters
        ----------
        database : Engine or str
            an SQLAlchemy engine or URL; ``"duckdb:///file.duckdb"`` is a DuckDB file, of which a
            table of any length may be looked at: no more of it is read than is bought
        table, schema : str and str or None
            where the cells are; checked against the database
        id : str or None
            the column that names each example once; rows come in its order. A DuckDB file needs
            none: its rows have places, and come in the order in which they were written
        name : str or None
            of the source that the ids are ids of; the table's name where it is left out
        features, without, kinds : as there
            as in :meth:`from_parquet`
        values : str
            "fixed" or "newest", as in :meth:`from_array`
        """
        from thrifty.cells.sources.sql import URL, DuckDBSource, SqlSource

        of_duckdb = isinstance(database, str) and database.startswith(URL)
        made: Source = (DuckDBSource if of_duckdb else SqlSource)(
            database,
            table,
            id=id,
            features=features,
            without=without,
            schema=schema,
            name=name,
            allow_missing=allow_missing,
            kinds=kinds,
        )
        made.values = checked_values(values)
        return made

    @staticmethod
    def from_callable(
        fn: Callable[..., object],
        *,
        examples: Iterable[object],
        features: Sequence[str],
        prices: PricesLike = None,
        idempotent: bool = False,
        boolean: bool | Collection[str] = True,
        kinds: KindsLike = None,
        name: str | None = None,
        not_billed: tuple[type[Exception], ...] = (),
        allow_missing: bool = False,
        present: PresentLike | None = None,
        values: Values = "fixed",
        **limits: Any,
    ) -> CallableSource:
        """A function that is paid for: a laboratory, a look-up, a language model.

        Parameters
        ----------
        fn : callable
            ``fn(example_ids, feature_names) -> rows x features``, sync or async
        examples : iterable
            stable ids, text or integers: the same id in two tasks is the same example
        features : sequence of str
            names
        prices : None, number, sequence, mapping or PriceList
            a price, a sequence, a mapping or a :class:`thrifty.PriceList`; None: the lifetime's
        idempotent : bool
            the provider honours keys; fn then takes ``idempotency_key`` too, and a purchase whose
            end is not known is repeated with its key instead of being in doubt
        boolean : bool or collection of str
            whether values are Booleans, for all features or the names of those that are
        kinds : mapping or None
            ``{name: "number" | "boolean" | [categories]}`` for features that differ; a category is
            answered by its text
        name : str or None
            of the provider. A cell is (this name, example id, feature name), and belongs to the
            store: whatever is bought from a provider of this name is there for all who use it
        not_billed : tuple of type
            errors after which nothing was billed, besides ``thrifty.errors.NotBilled``
        allow_missing : bool
            whether NaN is a value of a real-valued feature
        present : array of bool, callable or None
            which cells exist, where the provider's records say so beforehand: examples x features
            of True and False, or a function ``(ids, feature_names)`` that gives them, called once
            and for nothing. The others are gaps that are never asked for, nor billed
        values : str
            what a cell is: "fixed", so that another value for one that is known is an error, or
            "newest", so that it counts from then on. How long a value holds says
            ``PriceList(valid_for=)``
        limits : int
            ``max_examples``, ``max_features`` and ``max_cells`` of one call, ``concurrency``,
            ``per_second``, ``timeout`` in seconds, ``attempts``; ``on_doubt``: what to do where a
            call ends and nobody knows whether it was billed: ``"stop"``, or ``"ask again"``, which
            counts the first as billed and goes on, at most ``doubt_limit`` (10) times a task;
            ``on_failure``: what to do with an example on which the provider failed ``tries`` (3)
            times: ``"stop"``, or ``"gap"``, which goes on without its value

        Notes
        -----
        What a function may return or raise, sync or async:

        - a table of values, rows x features
        - :class:`thrifty.cells.Answered`, the same with what it cost and, in ``failed=``, what
          became of each row or cell without a value: ``"not-billed"``, ``"billed"``, ``"unknown"``
        - ``thrifty.errors.NotBilled``: the whole call was refused, and costs nothing
        - ``thrifty.errors.PurchaseFailed``: it failed as a whole, and costs
          ``PriceList(failed=)`` of its price
        - any other error, or no answer in time: nobody knows what was billed; where the price is 0
          it is simply asked again, unless more than was listed was billed before
          (``balance().over``): the list is not believed then, and it is in doubt

        An HTTP service is a function around a client, for instance with httpx::

            def ask(ids, names, idempotency_key):
                reply = httpx.post("https://lab.example/cells", json={"ids": ids, "names": names},
                                   headers={"Idempotency-Key": idempotency_key})
                if reply.status_code in (429, 503):    # refused before any work was done
                    raise thrifty.errors.NotBilled(reply.status_code)
                reply.raise_for_status()
                return reply.json()["values"]

        Examples
        --------
        >>> def ask(ids, names):
        ...     return [[len(i) > 3 for _ in names] for i in ids]
        >>> lab = Source.from_callable(ask, examples=["ann", "robert"], features=["long"],
        ...                            name="names", prices=2)
        >>> lab
        CallableSource(2 examples x 1 features)
        """
        from thrifty.cells.sources.callable import CallableSource, CallLimits

        return CallableSource(
            fn,
            examples=examples,
            features=features,
            prices=prices,
            idempotent=idempotent,
            boolean=boolean,
            kinds=kinds,
            name=name,
            not_billed=not_billed,
            allow_missing=allow_missing,
            present=present,
            limits=CallLimits(**limits),
            values=values,
        )

    @staticmethod
    def from_questions(
        texts: TextsLike,
        questions: QuestionsLike,
        *,
        ask: Callable[..., object] | None = None,
        **options: Any,
    ) -> QuestionSource:
        """Questions put to a language model about texts.

        Parameters
        ----------
        texts : list or mapping
            a list of texts, or {id: text}. A text is known by its content: an edited one is another
            example
        questions : list or mapping
            a list of texts, or {name: text or :class:`thrifty.Question`}, which says what can be
            answered: yes, no or unknown, a number, one of several categories
        ask : callable
            ``ask(prompt) -> text`` or :class:`thrifty.results.Reply`, sync or async; for a server
            that speaks OpenAI's chat completions, :class:`thrifty.ChatServer`. None: every question
            names its own answerers

        Other Parameters
        ----------------
        rates : Rates or None
            :class:`thrifty.Rates`, what tokens cost; None: those of ``ask``, else what the package
            ``genai-prices`` says of the model, where it is installed (thrifty[rates])
        model, version : str
            part of the source's name, with a hash of the prompt: what another model said is not
            reused. A question without a name of its own is known by its wording, so a list of
            questions may grow; change one that has a name and all are asked anew
        confidence : bool or str
            True: ask for a confidence from 0 to 1 beside each answer, a feature of its own;
            "tokens": take it from the log-probabilities of the server's tokens, a gap where it
            gives none
        batch : bool
            pay the price of batches and, with a ``ChatServer``, send them
        tokens : callable
            counts the tokens of a text, for the reservation
        again : int
            how often a malformed reply is asked for again; each is paid. With
            ``on_failure="gap"`` it is ``tries`` that counts, for refusals and replies alike
        limits : int
            as for :meth:`from_callable`; a call is about one text, 8 at a time, and each text is
            settled or refused by itself

        Examples
        --------
        >>> def parrot(prompt):
        ...     return '{"1": "yes"}' if "rain" in prompt else '{"1": "no"}'
        >>> from thrifty import Lifetime, Rates
        >>> from thrifty.protocol import Cells
        >>> bank = Source.from_questions(["rain again", "sun"], ["Is it wet?"], ask=parrot,
        ...                              rates=Rates("0.15 USD", "0.60 USD"))
        >>> cells = Cells(bank, ledger=Lifetime().ledger)
        >>> [bank.categories[0][int(v)] for v in cells.get([0, 1], [0])[:, 0]]
        ['yes', 'no']
        """
        from thrifty.cells.sources.questions import QuestionSource

        return QuestionSource(texts, questions, ask, **options)


class SourceView(Source):
    """Another source, seen otherwise: what it says of itself is said here too."""

    def __init__(self, source: Source, boolean: Bools) -> None:
        super().__init__(source.n_examples, source.feature_names, boolean)
        self._source = source
        self.named, self.free, self.name = source.named, source.free, source.name
        self.examples, self.index, self.kept = source.examples, source.index, source.kept
        self.gaps, self.told_kinds, self.unread = source.gaps, source.told_kinds, source.unread
        self.present, self.values = source.present, source.values

    @property
    def categories(self) -> Mapping[int, tuple[str, ...]]:  # type: ignore[override]
        """Asked anew each time: a table that is read by columns learns them when it is read."""
        return self._source.categories

    def read(self, rows: Ints, features: Ints) -> AnyArray:
        return self._source.read(rows, features)

    def columns(self, features: Ints) -> Words:
        return self._source.columns(features)

    def tiles(self) -> Words:
        return self._source.tiles()


def tiles_by_columns(columns: Callable[[Ints], Words], n_features: int, n_examples: int) -> Words:
    """Boolean features in tiles, from columns that are packed over the examples."""
    tiles = kernels.empty_tiles(n_features, n_examples)
    for b in range(len(tiles)):
        some = np.arange(b * kernels.TILE, min((b + 1) * kernels.TILE, n_features))
        kernels.tile_of_columns(columns(some), tiles[b])
    return tiles


def as_source(
    X: TableLike,
    *,
    allow_missing: bool = False,
    categories: bool = False,
    kinds: KindsLike = None,
    lazily: bool = False,
    na: NaLike = None,
) -> Source:
    """Whatever the user brought, as a source; ``categories``: whether the learner reads them.

    ``lazily``: columns of a frame that the learner cannot read are noted in ``source.unread``, with
    the error for whoever needs them.
    """
    source: Source
    if isinstance(X, Source):
        if kinds is not None:
            raise BadInput(
                "a Source says what its features are when it is made: give it kinds= there."
            )
        source = X
    elif _is_frame(X):
        source = Source.from_frame(
            X, allow_missing=allow_missing, kinds=kinds, lazily=lazily, na=na
        )
    elif isinstance(X, str | bytes):
        raise BadInput(
            f"X must be an array, a frame, a scipy sparse matrix or a Source; got the text {X!r}. "
            "Read the file first, or use a Source.from_... constructor."
        )
    else:
        source = Source.from_array(X, allow_missing=allow_missing, kinds=kinds, na=na)
    if not source.categories or categories:
        return source
    errors = {
        source.feature_names[f]: _no_categories(source.feature_names[f]) for f in source.categories
    }
    if not lazily or source is X:
        raise next(iter(errors.values()))
    source.unread, source.categories = {**source.unread, **errors}, {}
    return source


def _no_categories(name: str) -> BadInput:
    return BadInput(
        f"{name!r} holds categories (text), which this learner does not read. Learn with "
        "thrifty.Models(), or encode them first, for instance with "
        "sklearn.preprocessing.OneHotEncoder."
    )


def _is_frame(X: object) -> TypeGuard[FrameLike]:
    return hasattr(X, "columns") and hasattr(X, "dtypes")


class SomeRows(SourceView):
    """Some examples of a source that is free to read; made by :meth:`Source.of_rows`."""

    def __init__(self, source: Source, rows: Ints) -> None:
        super().__init__(source, source.boolean)
        ids, self._rows, self.n_examples, self.kept = source.examples, rows, len(rows), None
        self.examples = None if ids is None else tuple(ids[i] for i in rows.tolist())
        self.index = None if source.index is None else source.index[rows]
        self.present = None if source.present is None else source.present[rows]

    def read(self, rows: Ints, features: Ints) -> AnyArray:
        return self._source.read(self._rows[rows], features)

    # of the rows that are here, not of those behind it
    columns, tiles = Source.columns, Source.tiles


def rows_to_keep(ids: Sequence[object], duplicates: Duplicates) -> Ints | None:
    """Rows of a table of which each id is kept once; None: all of them.

    "newest" is the last row of an id, as tables are written down in time.

    >>> rows_to_keep(["a", "b", "a"], "newest").tolist()
    [1, 2]
    """
    if duplicates not in ("refuse", "first", "newest"):
        raise BadParameter(f"duplicates must be 'refuse', 'first' or 'newest'; got {duplicates!r}.")
    texts = [str(i) for i in ids]
    if len(set(texts)) == len(texts):
        return None
    if duplicates == "refuse":
        try:
            checked_ids(ids, len(texts))
        except BadInput as error:
            raise BadInput(
                f"{error} Where an example was written down several times, "
                "duplicates='first' or 'newest' takes one of its rows."
            ) from error
    at: dict[str, int] = {}
    for i, text in enumerate(texts):
        if duplicates == "newest" or text not in at:
            at[text] = i
    return np.array(sorted(at.values()), dtype=np.int64)


def row_keys(source: Source) -> Words:
    """A number of 64 bits for each example.

    >>> keys = row_keys(Source.from_array(np.array([[0, 1], [1, 0], [1, 1]]), feature_names="ab"))
    >>> turned = row_keys(Source.from_array(np.array([[1, 1], [0, 1]]), feature_names="ba"))
    >>> [int(np.flatnonzero(keys == key)[0]) for key in turned]
    [2, 1]
    """
    if source.examples is not None:
        keys = [key_of(source.name, example) for example in source.examples]
        return np.array(keys, dtype=np.uint64)
    features, salts = _told_by(source.feature_names)
    total = np.zeros(source.n_examples, dtype=np.uint64)
    whole = len(features) == source.n_features
    block = source.table() if whole else source.read(np.arange(source.n_examples), features)
    bits = source.boolean[features] & (block.dtype.kind in "biu")
    if bits.any():
        of_bits = block if bits.all() else block[:, bits]
        _add_bits(total, of_bits != 0, salts[bits])
    for i in np.flatnonzero(~bits).tolist():
        values = np.asarray(block[:, i], dtype=np.float64) + 0.0
        values[np.isnan(values)] = np.nan  # one of the many spellings of a gap
        total += _mixed(values.view(np.uint64) ^ salts[i])
    return _mixed(total)


def key_of(source: str, example: str) -> int:
    """The number of an example that has an id."""
    return _of_text(f"{source}\0{example}")


@lru_cache(maxsize=8)
def _told_by(names: tuple[str, ...]) -> tuple[Ints, Words]:
    """The features that examples are told apart by, 256 at most, and a number for each name."""
    salts = np.array([_of_text(name) for name in names], dtype=np.uint64)
    features = np.sort(np.argsort(salts, kind="stable")[:256])
    return features, salts[features]


def _add_bits(total: Words, bits: Bools, salts: Words) -> None:
    """What zeros and ones add, eight features at a time: 256 sums that are looked up."""
    zero, one = (_mixed(np.float64(v).view(np.uint64) ^ salts) for v in (0.0, 1.0))
    total += zero.sum(dtype=np.uint64)
    packed = np.packbits(bits, axis=1, bitorder="little")
    more = np.zeros(packed.shape[1] * 8, dtype=np.uint64)
    more[: len(salts)] = one - zero  # of 64 bits that run over, which is meant
    more = more.reshape(-1, 8)
    sums = np.zeros((len(more), 256), dtype=np.uint64)
    for bit in range(8):
        half = 1 << bit
        sums[:, half : 2 * half] = sums[:, :half] + more[:, bit : bit + 1]
    for byte, sums_of_byte in zip(packed.T, sums):
        total += sums_of_byte[byte]


def _of_text(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def _mixed(x: Words) -> Words:
    """Every bit depends on every other: the last steps of SplitMix64 (Steele et al., 2014)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
