"""Tests of the installed package against a running server.

Environment: LINEPACE_URL, LINEPACE_API_KEY, LINE_ID, LOSSY_URL (has a path, and loses the first response), DROPPING_URL (an event stream whose
connections end early), FIRST_EVENT_ID, and DELIVERY, a file with the body, headers and secret of a webhook's delivery.
"""

from __future__ import annotations

import json
import os
import time
import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from tempfile import TemporaryFile
from threading import Thread

from linepace import (
    AsyncLinepace,
    Linepace,
    LinepaceConnectionError,
    LinepaceError,
    WebhookVerificationError,
    async_pages,
    pages,
    webhooks,
)

TOMORROW = (datetime.now(timezone.utc) + timedelta(days=1)).isoformat()
LINE = os.environ["LINE_ID"]
DROPPING_URL = os.environ["DROPPING_URL"]
EVENTS_OF_DROPS = ["stream.reset", "message.sent", "message.reply"]


def schedule(linepace: Linepace, text: str) -> str:
    message = linepace.messages.send(
        message=text, recipientPhone="+14155550199", fromLineId=LINE, scheduledDate=TOMORROW
    )
    return message["_id"]


CSV = b"phone\n+14155550199\n"


@contextmanager
def busy_server() -> Iterator[tuple[str, list[bytes]]]:
    """Its URL, and the bodies of the requests, the first of which is answered 503."""
    bodies: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(503 if len(bodies) == 1 else 202)
            self.send_header("Retry-After", "0")
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", bodies
        finally:
            server.shutdown()


class ClientTest(unittest.TestCase):
    def test_errors_have_the_code_and_the_fields(self) -> None:
        with self.assertRaises(LinepaceError) as raised:
            Linepace().messages.send(message="Hello", recipientPhone="12")
        error = raised.exception
        self.assertEqual((error.status, error.code), (400, "VALIDATION_ERROR"))
        self.assertEqual(error.issues[0]["path"], "recipientPhone")
        self.assertIsNotNone(error.request_id)

    def test_pages_iterate_over_all_records(self) -> None:
        linepace = Linepace()
        sent = [schedule(linepace, f"python page {number}") for number in range(3)]
        found = [message["_id"] for message in pages(linepace.messages.list, limit=2, lineId=LINE)]
        self.assertEqual([id for id in found if id in sent], sent[::-1])

    def test_a_lost_response_sends_one_message(self) -> None:
        message_id = schedule(Linepace(base_url=os.environ["LOSSY_URL"]), "python, only once")
        found = [
            message["_id"]
            for message in pages(Linepace().messages.list, lineId=LINE)
            if message["message"] == "python, only once"
        ]
        self.assertEqual(found, [message_id])

    def test_a_repeated_request_has_the_whole_file(self) -> None:
        with busy_server() as (url, bodies), TemporaryFile() as file:
            file.write(CSV)
            file.seek(0)
            Linepace(base_url=url).contacts.import_leads("1", file)
            self.assertEqual(bodies, [CSV, CSV])

    def test_a_key_of_the_caller_is_kept(self) -> None:
        keyed = Linepace().with_idempotency_key(f"python-{time.time_ns()}")
        arguments = {"message": "python key", "recipientPhone": "+14155550199", "scheduledDate": TOMORROW}
        first, second = (keyed.messages.send(**arguments) for _ in range(2))  # type: ignore[misc]
        self.assertEqual(first["_id"], second["_id"])

    def test_no_response_is_a_connection_error(self) -> None:
        unreachable = Linepace(base_url="http://127.0.0.1:1", max_retries=0)
        # Errors end up in logs, where addresses of contacts have no place.
        for address in ("+14155550199", "ada@example.com"):
            with self.assertRaises(LinepaceConnectionError) as raised:
                unreachable.opt_outs.get(address)
            self.assertEqual(str(raised.exception), "No response to GET /api/opt-outs/{}")

    def test_the_stream_resumes(self) -> None:
        linepace = Linepace()
        message_id = linepace.messages.send(message="python stream", recipientPhone="+14155550123")["_id"]
        # From the first event of the workspace on.
        events = linepace.stream(last_event_id=os.environ["FIRST_EVENT_ID"])
        self.assertTrue(any(event.data["messageId"] == message_id for event in events))

    def test_the_stream_misses_nothing_when_connections_are_lost(self) -> None:
        events = Linepace(base_url=DROPPING_URL).stream()
        self.assertEqual([next(events).event for _ in EVENTS_OF_DROPS], EVENTS_OF_DROPS)

    def test_a_delivery_is_verified(self) -> None:
        delivery = json.loads(Path(os.environ["DELIVERY"]).read_text())
        body, headers, secret = delivery["body"], delivery["headers"], delivery["secret"]
        self.assertEqual(webhooks.unwrap(body, headers, secret)["event"], "message.sent")
        for arguments in ((body + " ", headers, secret), (body, headers, "whsec_YW5vdGhlcg=="), (body, {}, secret)):
            with self.assertRaises(WebhookVerificationError):
                webhooks.unwrap(*arguments)
        with self.assertRaisesRegex(WebhookVerificationError, "too far"):
            webhooks.unwrap(body, headers, secret, tolerance_seconds=-1)


class AsyncClientTest(unittest.IsolatedAsyncioTestCase):
    async def test_a_repeated_request_has_the_whole_file(self) -> None:
        with busy_server() as (url, bodies), TemporaryFile() as file:
            file.write(CSV)
            file.seek(0)
            async with AsyncLinepace(base_url=url) as linepace:
                await linepace.contacts.import_leads("1", file)
            self.assertEqual(bodies, [CSV, CSV])

    async def test_methods_pages_and_stream(self) -> None:
        async with AsyncLinepace() as linepace:
            message = await linepace.messages.send(message="python async", recipientPhone="+14155550123")
            ids = [record["_id"] async for record in async_pages(linepace.messages.list, limit=2)]
            self.assertIn(message["_id"], ids)
            async for event in linepace.stream(last_event_id=os.environ["FIRST_EVENT_ID"]):
                if event.data["messageId"] == message["_id"]:
                    break

    async def test_the_stream_misses_nothing_when_connections_are_lost(self) -> None:
        async with AsyncLinepace(base_url=DROPPING_URL) as linepace:
            events = linepace.stream()
            self.assertEqual([(await anext(events)).event for _ in EVENTS_OF_DROPS], EVENTS_OF_DROPS)


if __name__ == "__main__":
    unittest.main()
