"""Errors of the client."""

from __future__ import annotations

import json
from typing import Any

import httpx

from .generated.facts import ErrorCode


class LinepaceError(Exception):
    """A response with an error status.

    `code` is stable, for programs; None if something between the client and the API responded. `issues` are the fields
    that are not valid, of `VALIDATION_ERROR`. `request_id` identifies the request in the logs of the server. `body` has
    the fields of single codes, such as `limit` of `LIMIT_REACHED`.
    """

    def __init__(self, response: httpx.Response) -> None:
        self.status = response.status_code
        self.body = _body(response)
        self.code: ErrorCode | None = self.body.get("code")
        self.issues: list[dict[str, str]] = self.body.get("issues", [])
        self.request_id: str | None = self.body.get("requestId") or response.headers.get("X-Request-Id")
        text = self.body.get("error", f"HTTP {self.status}")
        # The text of the response says the first one.
        others = [f"{issue['path']}: {issue['message']}" for issue in self.issues[1:]]
        super().__init__("; ".join([text, *others]))


class LinepaceConnectionError(Exception):
    """No response arrived: the connection failed, or the request timed out, after all retries."""


def _body(response: httpx.Response) -> dict[str, Any]:
    try:
        body = response.json()
    except json.JSONDecodeError:
        return {}
    return body if isinstance(body, dict) else {}
