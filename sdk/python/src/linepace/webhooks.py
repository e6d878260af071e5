"""Verification of webhooks, by the Standard Webhooks scheme."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from typing import Any


class WebhookVerificationError(Exception):
    """The delivery is not signed with the secret, or is too old."""


def unwrap(
    body: str | bytes,
    headers: Mapping[str, str],
    secret: str,
    *,
    tolerance_seconds: float = 300,
) -> dict[str, Any]:
    """Verifies a delivery and returns its event, whose name is in `event`.

    `body` is the body as it was received: parsing and writing it again changes its bytes. `secret` is `whsec_…`, from the
    registration of the webhook. Raises `WebhookVerificationError`.
    """
    lower = {name.lower(): value for name, value in headers.items()}
    try:
        event_id, timestamp, signatures = (lower[f"webhook-{name}"] for name in ("id", "timestamp", "signature"))
    except KeyError:
        raise WebhookVerificationError("The headers are missing") from None
    try:
        age = abs(time.time() - int(timestamp))
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except (ValueError, binascii.Error):
        raise WebhookVerificationError("The timestamp or the secret is malformed") from None
    if age > tolerance_seconds:
        raise WebhookVerificationError("The timestamp is too far from now")

    raw = body.encode() if isinstance(body, str) else body
    digest = hmac.new(key, f"{event_id}.{timestamp}.".encode() + raw, hashlib.sha256).digest()
    expected = "v1," + base64.b64encode(digest).decode()
    if not any(hmac.compare_digest(expected, signature) for signature in signatures.split(" ")):
        raise WebhookVerificationError("No signature matches")
    event: dict[str, Any] = json.loads(raw)
    return event
