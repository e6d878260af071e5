#!/bin/sh
# Writes a configuration of Alertmanager that emails alerts to a person, to standard output. It contains the password.
#
#   SMTP_PASSWORD=… deploy/alert-emails.sh ana@example.com linepace@example.com smtp.example.com:587 USER
set -eu
if [ $# -ne 4 ] || [ -z "${SMTP_PASSWORD:-}" ]; then
  echo "Usage: SMTP_PASSWORD=… deploy/alert-emails.sh TO FROM SMTP_HOST:PORT SMTP_USER" >&2
  exit 2
fi
# In single quotes YAML has no escapes but the doubled quote.
quoted() { printf "'%s'" "$(printf '%s' "$1" | sed "s/'/''/g")"; }

cat <<SETTINGS
global:
  smtp_from: $(quoted "$2")
  smtp_smarthost: $(quoted "$3")
  smtp_auth_username: $(quoted "$4")
  smtp_auth_password: $(quoted "$SMTP_PASSWORD")
# Alerts of severity \`page\` mean that messages are not sent; \`ticket\` can wait for the morning.
route:
  receiver: ticket
  group_by: [alertname]
  repeat_interval: 12h
  routes:
    - matchers: [severity="page"]
      receiver: page
      repeat_interval: 30m
receivers:
  - name: page
    email_configs:
      - to: $(quoted "$1")
        send_resolved: true
        headers: { Subject: 'PAGE {{ .GroupLabels.alertname }} ({{ .Status }})' }
  - name: ticket
    email_configs:
      - to: $(quoted "$1")
        headers: { Subject: '{{ .GroupLabels.alertname }} ({{ .Status }})' }
SETTINGS
