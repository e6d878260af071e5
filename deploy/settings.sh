#!/bin/sh
# Writes the settings of a new installation, with new passwords and keys, readable by their owner only:
#
#   deploy/settings.sh compose https://messaging.example.com .
#   deploy/settings.sh machine https://messaging.example.com /etc/linepace
#
# `compose`: the file `.env` of docker-compose.yml. `machine`: those of the systemd units, `linepace.env`, `worker.env` and `owner.env`,
# for the PostgreSQL at DATABASE_HOST and the Temporal at TEMPORAL_ADDRESS. Requires `openssl`. Overwrites nothing.
set -eu
umask 077

if [ $# -ne 3 ]; then
  echo "Usage: deploy/settings.sh compose|machine PUBLIC_URL FOLDER" >&2
  exit 2
fi
kind=$1 url=${2%/} folder=$3
case $url in
  https://?*) ;;
  *) echo "PUBLIC_URL must begin with https://" >&2; exit 2 ;;
esac

password() { openssl rand -hex 24; }
key() { printf '1:%s' "$(openssl rand -base64 32)"; }
refuse_existing() {
  for file in "$@"; do
    if [ -e "$folder/$file" ]; then
      echo "$folder/$file exists; without its keys, stored credentials cannot be read" >&2
      exit 1
    fi
  done
}

case $kind in
  compose)
    refuse_existing .env
    sed \
      -e "s|^\(POSTGRES_PASSWORD\)=$|\1=$(password)|" \
      -e "s|^\(TENANT_DB_PASSWORD\)=$|\1=$(password)|" \
      -e "s|^\(SYSTEM_DB_PASSWORD\)=$|\1=$(password)|" \
      -e "s|^\(TEMPORAL_DB_PASSWORD\)=$|\1=$(password)|" \
      -e "s|^\(EXPORTER_DB_PASSWORD\)=$|\1=$(password)|" \
      -e "s|^PUBLIC_URL=.*|PUBLIC_URL=$url|" \
      -e "s|^\(ENCRYPTION_KEYS\)=$|\1=$(key)|" \
      -e "s|^\(SIGNING_KEYS\)=$|\1=$(key)|" \
      "$(dirname "$0")/../.env.example" > "$folder/.env"
    ;;
  machine)
    refuse_existing linepace.env worker.env owner.env
    host=${DATABASE_HOST:-localhost:5432}
    database=${DATABASE_NAME:-linepace}
    cat > "$folder/linepace.env" <<SETTINGS
NODE_ENV=production
PUBLIC_URL=$url
TRUSTED_PROXIES=1
DATABASE_URL=postgres://linepace_tenant:$(password)@$host/$database
DATABASE_SYSTEM_URL=postgres://linepace_system:$(password)@$host/$database
TEMPORAL_ADDRESS=${TEMPORAL_ADDRESS:-localhost:7233}
ENCRYPTION_KEYS=$(key)
SIGNING_KEYS=$(key)
# Where to report a vulnerability: https: or mailto:, shown at /.well-known/security.txt
# SECURITY_CONTACT=mailto:security@example.com
# The product's own emails. Without them, people get in with the links that operators' commands print.
# SMTP_URL=smtps://user:password@smtp.example.com
# MAIL_FROM="Linepace <no-reply@example.com>"
SETTINGS
    echo '# LLM_API_KEY=…' > "$folder/worker.env"
    echo "DATABASE_OWNER_URL=postgres://linepace:$(password)@$host/$database" > "$folder/owner.env"
    ;;
  *)
    echo "The first argument must be compose or machine" >&2
    exit 2
    ;;
esac
