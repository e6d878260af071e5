"""Which requests are repeated, and when: what failed for a moment, and nothing that might happen twice."""

from __future__ import annotations

import random
import re
import uuid

import httpx

from .generated.facts import IDEMPOTENT

_RETRIED = {408, 429, 500, 502, 503, 504}
_REFUSED = {429, 503}
"""The server has changed nothing and says when to come back."""
_FIRST_DELAY = 0.5
_LONGEST_DELAY = 8.0
_LONGEST_RETRY_AFTER = 60.0
"""A longer `Retry-After` is the caller's decision. In seconds."""

_IDEMPOTENT_PATHS = [
    re.compile(re.sub(r"{\w+}", "[^/]+", operation.removeprefix("POST "))) for operation in IDEMPOTENT
]


def with_idempotency_key(request: httpx.Request, path: str, key: str | None) -> bool:
    """Gives a request that creates something one `Idempotency-Key` for all of its attempts, if the caller has none.

    Returns whether repeating the request has no second effect. The path is that of the API, without that of a base URL.
    """
    if request.method != "POST":
        return True
    if not any(idempotent.fullmatch(path) for idempotent in _IDEMPOTENT_PATHS):
        return False
    request.headers["Idempotency-Key"] = key or str(uuid.uuid4())
    return True


def delay_after(response: httpx.Response, attempt: int, is_safe: bool) -> float | None:
    """In seconds; None if the response is final."""
    if response.status_code not in (_RETRIED if is_safe else _REFUSED):
        return None
    try:
        seconds = float(response.headers["Retry-After"])
    except (KeyError, ValueError):
        return backoff(attempt)
    return seconds if seconds <= _LONGEST_RETRY_AFTER else None


def backoff(attempt: int) -> float:
    """Doubles with each attempt; random, so that many clients do not come back at once. In seconds."""
    return min(_LONGEST_DELAY, _FIRST_DELAY * 2**attempt) * (0.5 + random.random() / 2)
