import type { CrmProviderName } from '#domain/crm/crm.ts';
import type { CrmContact, NewCrmContact } from '#domain/crm/contact.ts';
import type { CrmChange } from '#domain/crm/change.ts';

/** The provider cannot be asked now. The message contains neither texts nor addresses. */
export class CrmUnavailable extends Error {
  override readonly name = 'CrmUnavailable';
  /** How long the provider wants to be left alone; null: it did not say. */
  readonly retryAfterMs: number | null;

  constructor(message: string, retryAfterMs: number | null = null) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}

/** The provider refuses the token, or what is to be done with it. */
export class CrmDenied extends Error {
  override readonly name = 'CrmDenied';
  /** What is wrong with the connection. */
  readonly field: 'token' | 'accountId';

  constructor(message: string, field: 'token' | 'accountId' = 'token') {
    super(message);
    this.field = field;
  }
}

/** The provider refuses one thing, and would refuse it again. The message is a code. */
export class CrmRefused extends Error {
  override readonly name = 'CrmRefused';
}

/** Up to where the changes of contacts were read. */
export interface CrmPosition {
  /** By the provider's clock. */
  readUntil: Date;
  /** The provider's position among the contacts that changed at that time; null: at the first. */
  readAfter: string | null;
}

export interface CrmPage {
  contacts: readonly CrmContact[];
  position: CrmPosition;
  /** There is more to read now. */
  hasMore: boolean;
  /** The time of the answer, by the provider's clock. */
  answeredAt: Date;
}

/** An account of a provider, with the token that its requests carry. */
export interface CrmAccount {
  accountId: string;
  token: string;
}

/** A request of a provider, before anything of it is believed. */
export interface CrmRequest {
  body: string;
  header: (name: string) => string;
}

/** The signature of a request is not the provider's. */
export class BadCrmSignature extends Error {
  override readonly name = 'BadCrmSignature';
}

/** A text to a contact that was written in a CRM, which is to be sent. */
export interface CrmWritten {
  accountId: string;
  contactId: string;
  messageId: string;
  phone: string;
  text: string;
  attachmentUrls: readonly string[];
}

/** A provider of CRMs. */
export interface CrmProvider {
  readonly name: CrmProviderName;
  readonly title: string;
  /**
   * Checks that the token may do all that is to be done with it, and prepares the account.
   * @param given.accountId if the token does not say it; null: unknown.
   * @returns the account, with the token that is to be stored.
   * @throws CrmDenied, CrmUnavailable
   */
  connect(given: { accountId: string | null; token: string }): Promise<CrmAccount>;
  /**
   * Renews a token that expires soon. The old one is invalid then.
   * @returns the token that is to be stored; null: it is valid.
   * @throws CrmDenied, CrmUnavailable
   */
  renew?(token: string): Promise<string | null>;
  /**
   * Reads the contacts that have changed, in the order of their changes. A contact may be read again.
   * @throws CrmDenied, CrmUnavailable
   */
  readContacts(account: CrmAccount, position: CrmPosition): Promise<CrmPage>;
  /**
   * Makes a person a contact, unless one has their email or was made for them before: a request whose response was lost can be repeated.
   * @returns the contact's id.
   * @throws CrmDenied, CrmUnavailable, CrmRefused
   */
  create(account: CrmAccount, person: NewCrmContact): Promise<string>;
  /** Reads a request of the provider; absent: it sends none. @throws BadCrmSignature */
  read?(request: CrmRequest): CrmWritten | null;
  /**
   * Pushes a change. If the response is lost, the change is pushed again: no provider recognizes what it has received before.
   * @returns the end of the second in which it was received, by the provider's clock.
   * @throws CrmDenied, CrmUnavailable, CrmRefused
   */
  push(
    account: CrmAccount,
    contactId: string,
    change: Exclude<CrmChange, { kind: 'contact' }>,
  ): Promise<Date>;
  /** The ids that messages to a contact carry. */
  idsOf(accountId: string, contactId: string): Record<string, string>;
}

export type Crms = Readonly<Record<CrmProviderName, CrmProvider>>;
