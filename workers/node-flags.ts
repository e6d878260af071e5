/**
 * The flags of Node for worker processes, for all of their threads. The manifests of `deploy/` and `docker-compose.yml` have
 * the same. What they save: docs/benchmarks.md.
 */
export const WORKER_FLAGS = [
  // Rows and messages that wait for PostgreSQL survive collections of the young generation, which would otherwise grow up to 128 MB.
  '--max-semi-space-size=8',
  // Cached workflows are a large heap that hardly changes: V8 would let garbage grow to the same size before it collects it.
  '--heap-growing-percent=25',
] as const;

/** Variables that the C library reads. The image sets the same. */
export const MEMORY_VARIABLES = {
  // Each thread of a worker would keep memory that it has freed.
  MALLOC_ARENA_MAX: '2',
} as const;
