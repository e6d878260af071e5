export { LinepaceConnectionError, LinepaceError } from './errors.js';
export type { EventStreamOptions, StreamedEvent } from './event-stream.js';
export type { ErrorCode } from './generated/facts.gen.js';
export type * from './generated/types.gen.js';
export { Linepace, type LinepaceOptions } from './linepace.js';
export { pages } from './pages.js';
export { type UnwrapOptions, type WebhookEvent, webhooks, WebhookVerificationError } from './webhooks.js';
