export { createLinepaceAdapter, LinepaceAdapter, type LinepaceAdapterOptions } from './adapter.js';
export type { LinepaceThread } from './thread-id.js';
