"""The client of the Linepace API."""

from . import webhooks
from ._client import AsyncLinepace, Linepace
from ._errors import LinepaceConnectionError, LinepaceError
from ._pages import async_pages, pages
from ._stream import StreamedEvent
from .webhooks import WebhookVerificationError

__all__ = [
    "AsyncLinepace",
    "Linepace",
    "LinepaceConnectionError",
    "LinepaceError",
    "StreamedEvent",
    "WebhookVerificationError",
    "async_pages",
    "pages",
    "webhooks",
]
