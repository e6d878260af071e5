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
    event: str
    """`stream.reset` if events were missed, because the stream was away for longer than they are kept."""
    data: dict[str, Any]


def read_stream(client: httpx.Client, last_event_id: str | None) -> Iterator[StreamedEvent]:
    attempt = 0
    while True:
        try:
            with client.stream("GET", _PATH, headers=_resume(last_event_id), timeout=_TIMEOUT) as response:
                if response.status_code >= 400:
                    response.read()
                    raise LinepaceError(response)
                block = _Block()
                for line in response.iter_lines():
                    if event := block.add(line):
                        attempt, last_event_id = 0, event.id
                        yield event
        except httpx.TransportError:
            pass
        except LinepaceError as error:
            _give_up_if_final(error)
        time.sleep(backoff(attempt))
        attempt += 1


async def read_stream_async(client: httpx.AsyncClient, last_event_id: str | None) -> AsyncIterator[StreamedEvent]:
    attempt = 0
    while True:
        try:
            async with client.stream("GET", _PATH, headers=_resume(last_event_id), timeout=_TIMEOUT) as response:
                if response.status_code >= 400:
                    await response.aread()
                    raise LinepaceError(response)
                block = _Block()
                async for line in response.aiter_lines():
                    if event := block.add(line):
                        attempt, last_event_id = 0, event.id
                        yield event
        except httpx.TransportError:
            pass
        except LinepaceError as error:
            _give_up_if_final(error)
        await asyncio.sleep(backoff(attempt))
        attempt += 1


def _resume(last_event_id: str | None) -> dict[str, str]:
    return {} if last_event_id is None else {"Last-Event-ID": last_event_id}


def _give_up_if_final(error: LinepaceError) -> None:
    """Raises the error if the server refuses the request, for example because the key was revoked."""
    if error.status < 500 and error.status != 429:
        raise error


class _Block:
    """The lines of one event."""

    def __init__(self) -> None:
        self._fields: dict[str, str] = {}

    def add(self, line: str) -> StreamedEvent | None:
        """Returns the event that an empty line ends."""
        if line:
            name, _, value = line.partition(": ")
            self._fields[name] = value
            return None
        fields, self._fields = self._fields, {}
        if "event" not in fields or "data" not in fields:
            return None
        return StreamedEvent(fields.get("id", ""), fields["event"], json.loads(fields["data"]))
