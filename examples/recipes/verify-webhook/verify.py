# Usage: python verify.py < body, with the headers and the secret in the environment. Exit code 1: not from Linepace.
# Without the package linepace: its webhooks.unwrap does the same.
import base64
import hashlib
import hmac
import json
import os
import sys
import time

body = sys.stdin.buffer.read()
event_id, timestamp = os.environ["WEBHOOK_ID"], os.environ["WEBHOOK_TIMESTAMP"]
key = base64.b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"))

digest = hmac.new(key, f"{event_id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
expected = "v1," + base64.b64encode(digest).decode()
signatures = os.environ["WEBHOOK_SIGNATURE"].split(" ")
is_recent = abs(time.time() - int(timestamp)) <= 300
if not is_recent or not any(hmac.compare_digest(expected, signature) for signature in signatures):
    sys.exit(1)
print(json.loads(body)["event"])
