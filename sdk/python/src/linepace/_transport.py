"""Sends requests, synchronously and asynchronously."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import httpx

from ._errors import LinepaceConnectionError, LinepaceError
from ._retries import backoff, delay_after, with_idempotency_key


def _request(
    client: httpx.Client | httpx.AsyncClient,
    method: str,
    path: str,
    query: Mapping[str, Any] | None,
    body: Mapping[str, Any] | None,
    file: Any,
    content_type: str | None,
) -> httpx.Request:
    headers: dict[str, str] = {}
    fields: dict[str, Any] = {"json": body}
    if content_type == "multipart/form-data":
        fields = {"files": {"file": file}}
    elif content_type is not None:
        # Read now: a repeated request would find an open file at its end, and an asynchronous client takes none.
        fields = {"content": file.read() if hasattr(file, "read") else file}
        headers["Content-Type"] = content_type
    return client.build_request(method, path, params=query, headers=headers, **fields)


def _result(response: httpx.Response) -> Any:
    if response.status_code >= 400:
        raise LinepaceError(response)
    is_json = response.headers.get("Content-Type", "").startswith("application/json")
    return response.json() if is_json else response.text


def _route(path: str) -> str:
    """The path without ids and the addresses of contacts, because errors end up in logs."""
    return re.sub(r"(?<=/)(?![a-z-]+(?:/|$))[^/]+", "{}", path)


class _Base:
    @staticmethod
    def escape(value: str) -> str:
        return quote(value, safe="")


class Transport(_Base):
    def __init__(self, client: httpx.Client, max_retries: int, idempotency_key: str | None = None) -> None:
        self._client = client
        self._max_retries = max_retries
        self._idempotency_key = idempotency_key

    def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        file: Any = None,
        content_type: str | None = None,
    ) -> Any:
        request = _request(self._client, method, path, query, body, file, content_type)
        is_safe = with_idempotency_key(request, path, self._idempotency_key)
        for attempt in range(self._max_retries + 1):
            is_last = attempt == self._max_retries
            try:
                response = self._client.send(request)
            except httpx.TransportError as error:
                if is_last or not is_safe:
                    raise LinepaceConnectionError(f"No response to {method} {_route(path)}") from error
                time.sleep(backoff(attempt))
                continue
            delay = delay_after(response, attempt, is_safe)
            if is_last or delay is None:
                return _result(response)
            time.sleep(delay)
        raise AssertionError("unreachable")


class AsyncTransport(_Base):
    def __init__(self, client: httpx.AsyncClient, max_retries: int, idempotency_key: str | None = None) -> None:
        self._client = client
        self._max_retries = max_retries
        self._idempotency_key = idempotency_key

    async def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        file: Any = None,
        content_type: str | None = None,
    ) -> Any:
        request = _request(self._client, method, path, query, body, file, content_type)
        is_safe = with_idempotency_key(request, path, self._idempotency_key)
        for attempt in range(self._max_retries + 1):
            is_last = attempt == self._max_retries
            try:
                response = await self._client.send(request)
            except httpx.TransportError as error:
                if is_last or not is_safe:
                    raise LinepaceConnectionError(f"No response to {method} {_route(path)}") from error
                await asyncio.sleep(backoff(attempt))
                continue
            delay = delay_after(response, attempt, is_safe)
            if is_last or delay is None:
                return _result(response)
            await asyncio.sleep(delay)
        raise AssertionError("unreachable")
