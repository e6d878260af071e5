export { LinepaceConnectionError, LinepaceError } from './errors.ts';
export type { EventStreamOptions, StreamedEvent } from './event-stream.ts';
export type { ErrorCode } from './generated/facts.gen.ts';
export type * from './generated/types.gen.ts';
export { Linepace, type LinepaceOptions } from './linepace.ts';
export { pages } from './pages.ts';
export { type UnwrapOptions, type WebhookEvent, webhooks, WebhookVerificationError } from './webhooks.ts';
