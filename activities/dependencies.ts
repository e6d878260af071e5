import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import type { Announcements } from '#db/connection/announcements.ts';
import type { Pools } from '#db/connection/pools.ts';
import type { Retention } from '#domain/base/retention.ts';
import type { StorageQuota } from '#domain/messages/storage-quota.ts';
import type { PaymentProvider } from '#domain/billing/payments.ts';
import type { MakeVoiceNote } from '#providers/audio/voice-note.ts';
import type { Chats } from '#providers/chats/chat.ts';
import type { Crms } from '#providers/crms/crm.ts';
import type { CarrierRegistry } from '#providers/carriers/registry.ts';
import type { Egress } from '#providers/egress.ts';
import type { Mailer } from '#providers/mail/mailer.ts';
import type { Model } from '#providers/models/model.ts';
import type { Transcriber } from '#providers/models/transcriber.ts';
import type { SecretBox } from '#providers/secret-box.ts';
import type { Signer } from '#providers/signer.ts';
import type { SignedLinks } from '#providers/storage/signed-link.ts';
import type { Storage } from '#providers/storage/storage.ts';
import type { Waker } from '#providers/temporal.ts';
import type { GapWaits } from './sending/gap-waits.ts';
import type { RoundPoller } from './base/round-poller.ts';
import type { RoundClaims } from './base/round-claims.ts';
import type { WebhookDeliverer } from './events/webhook-deliverer.ts';

/** The services that a worker passes to its activities. */
export interface Dependencies {
  pools: Pools;
  announcements: Announcements;
  carriers: CarrierRegistry;
  payments: PaymentProvider;
  chats: Chats;
  crms: Crms;
  egress: Egress;
  deliverer: WebhookDeliverer;
  /** Called when a carrier has accepted a message, with the seconds since it might have been sent. */
  onSent(carrier: string, lateSeconds: number): void;
  /** Called with the numbers of workflows that a sweep found overdue, and of those that it started anew. */
  onSweep(found: { woken: number; restarted: number }): void;
  secrets: SecretBox;
  signer: Signer;
  storage: Storage;
  links: SignedLinks;
  storageQuota: StorageQuota;
  retention: Retention;
  makeVoiceNote: MakeVoiceNote;
  /** null: no mail server is configured, and emails wait. */
  mailer: Mailer | null;
  /** null: no language model is configured, and no drafts are made. */
  model: Model | null;
  /** Called with what each call of the model has cost, in tokens. */
  onModelTokens(tokens: number): void;
  /** The model of workspaces in test mode. */
  testModel: Model | null;
  /** Writes down the audio of contacts; null: nothing does. */
  transcriber: Transcriber | null;
  /** Of workspaces in test mode. */
  testTranscriber: Transcriber | null;
  waker: Waker;
  gapWaits: GapWaits;
  roundClaims: RoundClaims;
  roundPoller: RoundPoller;
  temporal: Client;
  logger: Logger;
  /** The base of the callback URLs, for example `https://api.example.com`. */
  publicUrl: string;
  /** How often to poll inboxes without callbacks. */
  inboxPollSeconds: number;
  /** How often to ask connected CRMs. */
  crmPollSeconds: number;
}

/** What a process has, whatever task queues it serves. */
export type ProcessDependencies = Omit<Dependencies, 'gapWaits' | 'roundClaims' | 'roundPoller'>;
