"""The event stream, which resumes by itself."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any, NamedTuple

import httpx

from ._errors import LinepaceError
from ._retries import backoff

_PATH = "/api/events/stream"
_TIMEOUT = httpx.Timeout(60, read=45)
"""The server sends a comment every 15 seconds."""


class StreamedEvent(NamedTuple):
    """An event, and the id to resume after it."""

    id: str
    """Empty for `stream.reset`."""
    event: str
    """`stream.reset` if events were missed, because the stream was away for longer than they are kept."""
    data: dict[str, Any]


def read_stream(client: httpx.Client, last_event_id: str | None) -> Iterator[StreamedEvent]:
    attempt, place = 0, _Position(last_event_id)
    while True:
        try:
            with client.stream("GET", _PATH, headers=place.headers(), timeout=_TIMEOUT) as response:
                if response.status_code >= 400:
                    response.read()
                    raise LinepaceError(response)
                place.connected(response)
                blocks = _Blocks()
                for text in response.iter_text():
                    for event in blocks.add(text):
                        attempt = 0
                        place.received(event)
                        yield event
        except httpx.TransportError:
            pass
        except LinepaceError as error:
            _give_up_if_final(error)
        time.sleep(backoff(attempt))
        attempt += 1


async def read_stream_async(client: httpx.AsyncClient, last_event_id: str | None) -> AsyncIterator[StreamedEvent]:
    attempt, place = 0, _Position(last_event_id)
    while True:
        try:
            async with client.stream("GET", _PATH, headers=place.headers(), timeout=_TIMEOUT) as response:
                if response.status_code >= 400:
                    await response.aread()
                    raise LinepaceError(response)
                place.connected(response)
                blocks = _Blocks()
                async for text in response.aiter_text():
                    for event in blocks.add(text):
                        attempt = 0
                        place.received(event)
                        yield event
        except httpx.TransportError:
            pass
        except LinepaceError as error:
            _give_up_if_final(error)
        await asyncio.sleep(backoff(attempt))
        attempt += 1


def _give_up_if_final(error: LinepaceError) -> None:
    """Raises the error if the server refuses the request, for example because the key was revoked."""
    if error.status < 500 and error.status != 429:
        raise error


class _Position:
    """Where the next connection continues."""

    def __init__(self, last_event_id: str | None) -> None:
        # The server treats an empty id as none.
        self._last = last_event_id or None
        self._start: str | None = None

    def headers(self) -> dict[str, str]:
        return {} if self._last is None else {"Last-Event-ID": self._last}

    def connected(self, response: httpx.Response) -> None:
        # The position before the first event. Without it, a connection that is lost before its first event would lose the
        # events until the next connection.
        self._start = response.headers.get("Last-Event-ID")
        if self._last is None:
            self._last = self._start

    def received(self, event: StreamedEvent) -> None:
        # Not before the reset has arrived: if it is lost, the old id makes the server send it again.
        if event.event == "stream.reset":
            self._last = self._start or self._last
        elif event.id:
            self._last = event.id


class _Blocks:
    """Parses the text of a connection into events."""

    def __init__(self) -> None:
        self._rest = ""

    def add(self, text: str) -> Iterator[StreamedEvent]:
        """The events that this part of the text ends."""
        # `iter_lines` also splits at U+2028 and similar characters, which texts may contain.
        *blocks, self._rest = (self._rest + text).split("\n\n")
        for block in blocks:
            fields = {name: value for name, _, value in (line.partition(": ") for line in block.split("\n"))}
            if "event" in fields and "data" in fields:
                yield StreamedEvent(fields.get("id", ""), fields["event"], json.loads(fields["data"]))
