"""Iteration over all pages of a list."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any


def pages(method: Callable[..., Any], **query: Any) -> Iterator[Any]:
    """Iterates over the records of all pages: `for message in pages(linepace.messages.list, status="failed")`."""
    cursor: str | None = None
    while True:
        page = method(**query, **({"cursor": cursor} if cursor else {}))
        yield from _records(page)
        cursor = page["nextCursor"]
        if cursor is None:
            return


async def async_pages(method: Callable[..., Awaitable[Any]], **query: Any) -> AsyncIterator[Any]:
    """Like `pages`, for a method of `AsyncLinepace`."""
    cursor: str | None = None
    while True:
        page = await method(**query, **({"cursor": cursor} if cursor else {}))
        for record in _records(page):
            yield record
        cursor = page["nextCursor"]
        if cursor is None:
            return


def _records(page: dict[str, Any]) -> list[Any]:
    """The one list of a page."""
    return next(value for value in page.values() if isinstance(value, list))
