/**
 * The flags of Node for worker processes. Rows and messages that wait for PostgreSQL outlive collections of the young
 * generation, which then grows up to 128 MB in each thread and stays there. The manifests of `deploy/` and
 * `docker-compose.yml` have the same.
 */
export const WORKER_FLAGS = ['--max-semi-space-size=8'] as const;
