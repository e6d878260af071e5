import type { Config } from '#domain/base/config.ts';
import type { CarrierRegistry } from './carriers/registry.ts';
import { chatParts } from './chats/parts.ts';
import type { Chats } from './chats/chat.ts';
import type { Part } from './parts.ts';
import { paymentsCheck } from './payments/provider.ts';
import type { Storage } from './storage/storage.ts';

/** What API and worker processes check besides the database and Temporal; null: it is not configured. */
export function outsideParts(
  config: Config,
  { storage, carriers, chats }: { storage: Storage; carriers: CarrierRegistry; chats: Chats },
): Record<string, Part | null> {
  const payments = paymentsCheck(config);
  return {
    storage: { title: 'the file store', check: () => storage.check() },
    payments: payments && { title: 'the payment provider', check: payments },
    twilio: carriers.checkNumberAccount
      ? { title: 'the account for new numbers', check: carriers.checkNumberAccount }
      : null,
    ...chatParts(chats),
  };
}
