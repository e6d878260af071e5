import type { Logger } from 'pino';
import type { ApiPools } from '#db/connection/pools.ts';
import type { Config } from '#domain/base/config.ts';
import type { WatchedParts } from '#providers/parts.ts';
import type { Check } from '#providers/readiness.ts';
import type { PaymentProvider } from '#domain/billing/payments.ts';
import type { Chats } from '#providers/chats/chat.ts';
import type { Crms } from '#providers/crms/crm.ts';
import type { Egress } from '#providers/egress.ts';
import type { IdentityProvider } from '#providers/identity-provider.ts';
import type { SecretBox } from '#providers/secret-box.ts';
import type { Signer } from '#providers/signer.ts';
import type { SignedLinks } from '#providers/storage/signed-link.ts';
import type { Storage } from '#providers/storage/storage.ts';
import type { CarrierRegistry } from '#providers/carriers/registry.ts';
import type { UntrustedWork } from '#providers/untrusted/processes.ts';
import type { TaskQueues } from '#providers/task-queues.ts';
import type { Waker } from '#providers/temporal.ts';
import type { Client } from '@temporalio/client';
import type { PayloadCodec } from '@temporalio/common';
import type { WaitingMessages } from './routes/messages/waiting-messages.ts';
import type { CallerCache } from './auth/caller-cache.ts';
import type { SessionVerifier } from './auth/session-token.ts';
import type { DripIntake } from './routes/messages/drip-intake.ts';
import type { EventStreams } from './routes/events/stream/event-streams.ts';
import type { RateLimits } from './http/rate-limits.ts';
import type { Metrics } from './http/metrics.ts';
import type { PresenceBoard } from './routes/inbox/presence.ts';
import type { RefusedRequests } from './routes/accounts/refused-requests.ts';
import type { Receipts } from './routes/messages/receipts.ts';
import type { RequestLog } from './routes/accounts/request-log.ts';

/** The dependencies of request handlers, created once per process. */
export interface Services {
  readonly config: Config;
  readonly logger: Logger;
  readonly pools: ApiPools;
  readonly waker: Waker;
  readonly taskQueues: TaskQueues;
  readonly temporal: Client;
  /** For `/codec`, which also shows what is not encrypted. null: payloads are not encrypted. */
  readonly payloadCodec: PayloadCodec | null;
  readonly sessions: SessionVerifier;
  /** null: without `AUTH_CLIENT_ID`. */
  readonly identityProvider: IdentityProvider | null;
  readonly callers: CallerCache;
  readonly waitingMessages: WaitingMessages;
  readonly requestLog: RequestLog;
  readonly refusedRequests: RefusedRequests;
  readonly secrets: SecretBox;
  readonly signer: Signer;
  readonly storage: Storage;
  /** What every request needs. */
  readonly required: Readonly<Record<string, Check>>;
  /** The outside parts that are configured, such as the file store. */
  readonly parts: WatchedParts;
  readonly links: SignedLinks;
  readonly egress: Egress;
  readonly untrusted: UntrustedWork;
  readonly carriers: CarrierRegistry;
  readonly payments: PaymentProvider;
  readonly chats: Chats;
  readonly crms: Crms;
  readonly intake: DripIntake;
  readonly receipts: Receipts;
  readonly presence: PresenceBoard;
  readonly streams: EventStreams;
  readonly rateLimits: RateLimits;
  readonly metrics: Metrics;
}
