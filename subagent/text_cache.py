"""The results of pure functions of texts, kept while the texts are asked for, up to so many characters."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Concatenate, Generic, ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")

SHORT_CHARS = 1_000  # statements and sentences are shorter


class TextCache(Generic[T]):
    """A pure function of a text that remembers its latest results.

    The text itself is the key, so a result can neither be out of date nor tell a caller anything of a text that he
    does not have. Threads may share one.
    """

    def __init__(self, work: Callable[[str], T], *, max_chars: int) -> None:
        """Make one.

        Args:
            work: the function; its results are shared, so nobody may change one.
            max_chars: of all texts whose results are kept; those that were asked for longest ago go first.
        """
        self._work = work
        self._max_chars = max_chars
        self._chars = 0
        self._found: OrderedDict[str, T] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, text: str) -> T:
        """Return the result for a text."""
        found = self.known(text)
        return self.keep(text, self._work(text)) if found is None else found

    def known(self, text: str) -> T | None:
        """Return the result for a text if it is kept."""
        with self._lock:
            if text in self._found:
                self._found.move_to_end(text)
                return self._found[text]
        return None

    def keep(self, text: str, result: T) -> T:
        """Keep the result for a text, which the function gave elsewhere, and return it."""
        with self._lock:
            if text not in self._found and len(text) <= self._max_chars:
                self._found[text] = result
                self._chars += len(text)
            while self._chars > self._max_chars:
                self._chars -= len(self._found.popitem(last=False)[0])
        return result


def cached_for_texts(*, max_chars: int) -> Callable[[Callable[[str], T]], TextCache[T]]:
    """Return what makes a pure function remember its results; see `TextCache`."""
    return lambda work: TextCache(work, max_chars=max_chars)


def cached_for_short_texts(
    *, entries: int
) -> Callable[[Callable[Concatenate[str, P], T]], Callable[Concatenate[str, P], T]]:
    """Return what makes a pure function remember its latest results for texts of up to `SHORT_CHARS`.

    Nothing is kept of a longer text: thousands of statements of 100,000 characters would fill the memory of the
    process.
    """

    def decorate(work: Callable[Concatenate[str, P], T]) -> Callable[Concatenate[str, P], T]:
        kept = lru_cache(maxsize=entries)(work)

        @wraps(work)
        def remembered(text: str, /, *others: P.args, **named: P.kwargs) -> T:
            if len(text) > SHORT_CHARS:
                return work(text, *others, **named)
            return kept(text, *others, **named)  # type: ignore[arg-type]  # lru_cache wants hashable arguments

        return remembered

    return decorate
