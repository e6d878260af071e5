"""Receives webhooks, verifies each delivery with the public Standard Webhooks library, and prints a line for it.

    pip install standardwebhooks
    WEBHOOK_SECRET=whsec_... python3 examples/webhook_verify.py 8700
"""

import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

webhook = Webhook(os.environ["WEBHOOK_SECRET"])


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        # Verify the raw bytes: JSON that was parsed and serialized again has another signature.
        body = self.rfile.read(int(self.headers["content-length"]))
        try:
            event = webhook.verify(body, dict(self.headers))
        except WebhookVerificationError as reason:
            self.respond(400, f"refused {reason}")
        else:
            self.respond(204, f"verified {event['event']} {self.headers['x-svc-event-id']}")

    def respond(self, status, line):
        print(line, flush=True)
        self.send_response(status)
        self.end_headers()

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 0), Receiver)
print(f"listening http://127.0.0.1:{server.server_port}/", flush=True)
server.serve_forever()
