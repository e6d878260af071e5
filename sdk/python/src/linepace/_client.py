"""The clients."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from types import TracebackType
from typing import Any

import httpx
from typing_extensions import Self

from ._stream import StreamedEvent, read_stream, read_stream_async
from ._transport import AsyncTransport, Transport
from .generated.resources import Api, AsyncApi


def _settings(
    api_key: str | None, base_url: str | None, workspace_id: str | None, agency_id: str | None, timeout: float
) -> dict[str, Any]:
    key = api_key or os.environ.get("LINEPACE_API_KEY")
    if not key:
        raise TypeError("api_key is required: pass it, or set LINEPACE_API_KEY")
    headers = {"Authorization": f"Bearer {key}"}
    if workspace_id is not None:
        headers["X-Workspace-Id"] = workspace_id
    if agency_id is not None:
        headers["X-Agency-Id"] = agency_id
    url = base_url or os.environ.get("LINEPACE_URL") or "http://localhost:3000"
    return {"base_url": url, "headers": headers, "timeout": timeout}


class Linepace(Api):
    """A client of the API. Its methods are grouped and named as in the API reference.

    Each raises a `LinepaceError` if the response is an error, and a `LinepaceConnectionError` if there is none.

    - `api_key`: a workspace key, an agency key, or a session token. Default: `LINEPACE_API_KEY`.
    - `base_url`: where Linepace runs. Default: `LINEPACE_URL`, else `http://localhost:3000`.
    - `workspace_id`: a workspace of the signed-in user's agency to act in.
    - `agency_id`: the agency of a signed-in user who belongs to several.
    - `max_retries`: how often a request is repeated after a failure that may pass.
    - `timeout`: for each attempt, in seconds.
    """

    def __init__(
        self,
        api_key: str | None = None,
        *,
        base_url: str | None = None,
        workspace_id: str | None = None,
        agency_id: str | None = None,
        max_retries: int = 2,
        timeout: float = 60,
    ) -> None:
        self._client = httpx.Client(**_settings(api_key, base_url, workspace_id, agency_id, timeout))
        self._max_retries = max_retries
        super().__init__(Transport(self._client, max_retries))

    def with_idempotency_key(self, key: str) -> Api:
        """The same client, whose next request that creates something has this key, also after your program restarts."""
        return Api(Transport(self._client, self._max_retries, key))

    def stream(self, last_event_id: str | None = None) -> Iterator[StreamedEvent]:
        """The events that webhooks get, as they happen. Resumes by itself when the connection is lost.

        `last_event_id` resumes an earlier stream, within 30 days.
        """
        return read_stream(self._client, last_event_id)

    def close(self) -> None:
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncLinepace(AsyncApi):
    """Like `Linepace`, with asynchronous methods."""

    def __init__(
        self,
        api_key: str | None = None,
        *,
        base_url: str | None = None,
        workspace_id: str | None = None,
        agency_id: str | None = None,
        max_retries: int = 2,
        timeout: float = 60,
    ) -> None:
        self._client = httpx.AsyncClient(**_settings(api_key, base_url, workspace_id, agency_id, timeout))
        self._max_retries = max_retries
        super().__init__(AsyncTransport(self._client, max_retries))

    def with_idempotency_key(self, key: str) -> AsyncApi:
        """Like `Linepace.with_idempotency_key`."""
        return AsyncApi(AsyncTransport(self._client, self._max_retries, key))

    def stream(self, last_event_id: str | None = None) -> AsyncIterator[StreamedEvent]:
        """The events that webhooks get, as they happen. Resumes by itself when the connection is lost."""
        return read_stream_async(self._client, last_event_id)

    async def close(self) -> None:
        await self._client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
