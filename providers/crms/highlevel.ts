import { createPublicKey, verify } from 'node:crypto';
import { z } from 'zod';
import { realTime } from '#domain/base/clock.ts';
import { firstOf } from '#domain/base/bounded-schema.ts';
import { tryParseUntrustedJson } from '#domain/base/untrusted-json.ts';
import { toStorable, truncate } from '#domain/base/text.ts';
import type { CrmContact } from '#domain/crm/contact.ts';
import type { CrmChange } from '#domain/crm/change.ts';
import { retryAfterMs } from '#domain/base/retry-after.ts';
import { answeredAt, type CrmAnswer, crmRequests } from './crm-request.ts';
import {
  BadCrmSignature,
  type CrmAccount,
  CrmDenied,
  type CrmPage,
  type CrmPosition,
  type CrmProvider,
  CrmRefused,
  CrmUnavailable,
} from './crm.ts';

/** The versions of the API, which every request names. */
const CONTACTS = '2021-07-28';
const CONVERSATIONS = '2021-04-15';
/** Of a search, which returns at most 500. */
const PAGE = 100;
const ADDRESSES = 20;
/** The limit of 100 requests is per ten seconds; the daily one ends 24 hours after the first request, which HighLevel does not state. */
const RATE_LIMIT_MS = 10_000;
const DAILY_LIMIT_MS = 3_600_000;
/** A search finds a new conversation after some seconds (github.com/GoHighLevel/highlevel-api-docs, issue 5). */
const FOUND_LATE_MS = 5000;
const KNOWN_LATE_MS = 5 * 60_000;
/** A token of a day is renewed when it is valid for less. */
const RENEW_MS = 3_600_000;
const MAX_REASON = 200;
const MAX_TEXT = 60_000;

const DND_CHANNELS = ['Call', 'Email', 'SMS', 'WhatsApp', 'GMB', 'FB'] as const;
const Dnd = z.object({ status: z.string(), message: z.string().nullish(), code: z.string().nullish() });
const DndSettings = z.partialRecord(z.enum(DND_CHANNELS), Dnd.nullish().catch(null)).catch({});
/** A further address is a text, or an object (issue 289). */
const Further = firstOf(
  z.union([
    z.string(),
    z.object({ email: z.string() }).transform(({ email }) => email),
    z.object({ phone: z.string() }).transform(({ phone }) => phone),
  ]),
  ADDRESSES,
)
  .nullish()
  .catch([]);
const Contact = z.object({
  id: z.string(),
  firstName: z.string().nullish(),
  firstNameLowerCase: z.string().nullish(),
  lastName: z.string().nullish(),
  companyName: z.string().nullish(),
  email: z.string().nullish(),
  additionalEmails: Further,
  phone: z.string().nullish(),
  additionalPhones: Further,
  assignedTo: z.string().nullish(),
  dnd: z.boolean().nullish(),
  dndSettings: DndSettings.nullish(),
  dateAdded: z.string().nullish(),
  dateUpdated: z.string().nullish(),
});
type Contact = z.output<typeof Contact>;
const OneContact = z.object({ contact: Contact });
const SearchAfter = firstOf(z.union([z.string(), z.number()]), 10);
const Found = z.object({
  contacts: firstOf(Contact.extend({ searchAfter: SearchAfter.nullish().catch(null) }), PAGE),
});
const Conversations = z.object({ conversations: firstOf(z.object({ id: z.string() }), 1) });
const NewConversation = z.object({ conversation: z.object({ id: z.string() }) });
/** What was written with a conversation provider of type SMS (docs/webhook events/ProviderOutboundMessage.md). */
const Outbound = z.object({
  type: z.literal('SMS'),
  locationId: z.string(),
  contactId: z.string(),
  messageId: z.string().max(100),
  phone: z.string().nullish(),
  message: z.string().nullish(),
  attachments: firstOf(z.string(), 10).nullish(),
});
const User = z.object({ email: z.string().nullish() });
const Failure = z.object({
  message: z
    .union([z.string(), firstOf(z.string(), 10).transform((texts) => texts.join(', '))])
    .nullish()
    .catch(null),
});

/** What a marketplace app got, as it is stored. */
const AppToken = z.object({ access: z.string(), refresh: z.string(), expiresAt: z.coerce.date() });
type AppToken = z.output<typeof AppToken>;
const Granted = z.object({
  access_token: z.string(),
  refresh_token: z.string(),
  expires_in: z.number(),
  locationId: z.string().nullish(),
});

/** With which HighLevel signs its requests in `x-ghl-signature`, Ed25519 (marketplace.gohighlevel.com, Webhook Integration Guide). */
const WEBHOOK_KEY = `-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEAi2HR1srL4o18O8BRa7gVJY7G7bupbN3H9AwJrHCDiOg=
-----END PUBLIC KEY-----`;

export interface HighLevelOptions {
  /** Another server with the API; null: HighLevel's. */
  apiUrl: string | null;
  /** PEM file of its authority; null: a public one. */
  caFile: string | null;
  /** PEM of the public key of another server that sends requests; null: HighLevel's. */
  webhookKey: string | null;
  /** A marketplace app, whose codes are exchanged for tokens; null: only private integration tokens are taken. */
  app: {
    clientId: string;
    clientSecret: string;
    /** The conversation providers of the app; null: it has none of that kind, and HighLevel's own are named. */
    smsProviderId: string | null;
    callProviderId: string | null;
  } | null;
}

/** A location (sub-account) of HighLevel, with a private integration token or one of a marketplace app. */
export function createHighLevel({
  apiUrl,
  caFile,
  app,
  webhookKey: otherKey,
}: HighLevelOptions): CrmProvider {
  const webhookKey = createPublicKey(otherKey ?? WEBHOOK_KEY);
  const askCrm = crmRequests('HighLevel', caFile);
  const base = (apiUrl ?? 'https://services.leadconnectorhq.com').replace(/\/$/, '');

  /** @throws CrmDenied, CrmUnavailable */
  async function call(
    { token }: CrmAccount,
    version: string,
    method: string,
    path: string,
    body?: object,
  ): Promise<CrmAnswer> {
    const headers = { authorization: `Bearer ${appTokenOf(token)?.access ?? token}`, version };
    const answer = await askCrm(base + path, { method, headers, body });
    const { status } = answer;
    if (status < 400) return answer;
    const failure = Failure.safeParse(answer.body).data;
    if (status === 401) throw new CrmDenied(`HighLevel refuses the token${reasonOf(failure)}`);
    if (status === 403) throw new CrmDenied(`The token may not do everything${reasonOf(failure)}`);
    const asked = retryAfterMs(answer.headers.get('retry-after'), realTime());
    if (status === 429) {
      const isDaily = answer.headers.get('x-ratelimit-daily-remaining') === '0';
      const limit = isDaily ? 'of a day' : 'of ten seconds';
      throw new CrmUnavailable(
        `HighLevel's limit ${limit} is reached`,
        asked ?? (isDaily ? DAILY_LIMIT_MS : intervalOf(answer)),
      );
    }
    // What another server than HighLevel's answers is not about the request.
    if (status >= 500 || !failure) throw new CrmUnavailable(`HighLevel responded ${status}`, asked);
    return answer;
  }

  /** @throws CrmDenied, CrmUnavailable, CrmRefused */
  async function ask(...request: Parameters<typeof call>): Promise<CrmAnswer> {
    const answer = await call(...request);
    const { status } = answer;
    if (status < 400) return answer;
    // A contact that does not exist is a 400 as well.
    const isMissing = status === 404 || (status === 400 && /not found/i.test(messageOf(answer)));
    throw new CrmRefused(isMissing ? 'contact_not_found' : `highlevel_${status}`);
  }

  function read<T extends z.ZodType>(schema: T, { status, body }: CrmAnswer): z.output<T> {
    const parsed = schema.safeParse(body);
    if (!parsed.success) throw new CrmUnavailable(`HighLevel responded ${status}, not in its own form`);
    return parsed.data;
  }

  /** @param given the grant. */
  async function grant(given: Record<string, string>): Promise<{ token: string; locationId: string | null }> {
    if (!app) throw new CrmDenied('HighLevel refuses the token: it is no private integration token');
    const { clientId: client_id, clientSecret: client_secret } = app;
    const form = new URLSearchParams({ client_id, client_secret, user_type: 'Location', ...given });
    const answer = await askCrm(`${base}/oauth/token`, { method: 'POST', headers: {}, body: form });
    if (answer.status >= 500) throw new CrmUnavailable(`HighLevel responded ${answer.status}`);
    if (answer.status >= 400)
      throw new CrmDenied(`HighLevel grants no token${reasonOf(Failure.safeParse(answer.body).data)}`);
    const { access_token: access, refresh_token: refresh, expires_in, locationId } = read(Granted, answer);
    const expiresAt = new Date(realTime().getTime() + expires_in * 1000);
    return {
      token: JSON.stringify({ access, refresh, expiresAt } satisfies AppToken),
      locationId: locationId ?? null,
    };
  }

  const search = (
    account: CrmAccount,
    { readUntil, readAfter }: CrmPosition,
    pageLimit = PAGE,
  ): Promise<CrmAnswer> =>
    ask(account, CONTACTS, 'POST', '/contacts/search', {
      locationId: account.accountId,
      pageLimit,
      filters: [{ field: 'dateUpdated', operator: 'range', value: { gte: readUntil.toISOString() } }],
      sort: [{ field: 'dateUpdated', direction: 'asc' }],
      ...(readAfter !== null && {
        searchAfter: SearchAfter.safeParse(tryParseUntrustedJson(readAfter)).data ?? [],
      }),
    });

  const searchConversations = (
    account: CrmAccount,
    more: Record<string, string> = {},
  ): Promise<CrmAnswer> => {
    const query = new URLSearchParams({ locationId: account.accountId, limit: '1', ...more });
    return ask(account, CONVERSATIONS, 'GET', `/conversations/search?${query.toString()}`);
  };

  const getContact = (account: CrmAccount, id: string): Promise<CrmAnswer> =>
    ask(account, CONTACTS, 'GET', `/contacts/${encodeURIComponent(id)}`);

  /** A search may name a contact in lower case only. */
  async function named(account: CrmAccount, contact: Contact): Promise<Contact> {
    if (contact.firstName || !contact.firstNameLowerCase) return contact;
    try {
      const { firstName, lastName } = read(OneContact, await getContact(account, contact.id)).contact;
      return { ...contact, firstName, lastName };
    } catch (error) {
      // It was deleted in the meantime.
      if (error instanceof CrmRefused) return contact;
      throw error;
    }
  }

  /** The emails of users, by id. */
  async function userEmails(account: CrmAccount, ids: ReadonlySet<string>): Promise<Map<string, string>> {
    const emails = new Map<string, string>();
    for (const id of ids) {
      const answer = await call(account, CONTACTS, 'GET', `/users/${encodeURIComponent(id)}`);
      const { email } = answer.status < 400 ? read(User, answer) : {};
      if (email) emails.set(id, email);
    }
    return emails;
  }

  /** A contact has one conversation. */
  async function conversationOf(account: CrmAccount, contactId: string): Promise<string> {
    const { conversations } = read(Conversations, await searchConversations(account, { contactId }));
    if (conversations[0]) return conversations[0].id;
    const { accountId: locationId } = account;
    const created = await call(account, CONVERSATIONS, 'POST', '/conversations/', { locationId, contactId });
    if (created.status < 400) return read(NewConversation, created).conversation.id;
    if (/already exists/i.test(messageOf(created)))
      throw new CrmUnavailable('HighLevel does not find a new conversation yet');
    throw new CrmRefused(
      /not found/i.test(messageOf(created)) ? 'contact_not_found' : `highlevel_${created.status}`,
    );
  }

  async function logMessage(
    account: CrmAccount,
    contactId: string,
    { kind, channel, address, subject, text, at }: Extract<CrmChange, { text: string }>,
  ): Promise<CrmAnswer> {
    const isReply = kind === 'reply';
    // Only tokens of the app may name its provider (issue 107).
    const provider = appTokenOf(account.token) && app?.smsProviderId;
    const more =
      channel === 'email'
        ? {
            type: 'Email',
            subject: subject ?? '',
            ...(address !== null && { [isReply ? 'emailFrom' : 'emailTo']: address }),
          }
        : { type: 'SMS', ...(provider && { conversationProviderId: provider }) };
    return ask(account, CONVERSATIONS, 'POST', '/conversations/messages/inbound', {
      ...more,
      conversationId: await conversationOf(account, contactId),
      contactId,
      message: truncate(text, MAX_TEXT),
      direction: isReply ? 'inbound' : 'outbound',
      date: at.toISOString(),
    });
  }

  /** In the conversation if the app has a provider of calls, otherwise as a note. */
  async function logCall(
    account: CrmAccount,
    contactId: string,
    change: Extract<CrmChange, { kind: 'call' }>,
  ): Promise<CrmAnswer> {
    const { isOutbound, isAnswered, from, to, durationSec, at } = change;
    const provider = appTokenOf(account.token) && app?.callProviderId;
    if (!provider) {
      const how = isAnswered ? `${Math.round(durationSec)} seconds` : 'not answered';
      const body = `Call from ${from} to ${to} at ${at.toISOString()}, ${how}`;
      return ask(account, CONTACTS, 'POST', `/contacts/${encodeURIComponent(contactId)}/notes`, { body });
    }
    return ask(
      account,
      CONVERSATIONS,
      'POST',
      `/conversations/messages/${isOutbound ? 'outbound' : 'inbound'}`,
      {
        type: 'Call',
        conversationId: await conversationOf(account, contactId),
        ...(!isOutbound && { contactId, direction: 'inbound' }),
        conversationProviderId: provider,
        date: at.toISOString(),
        call: { from, to, status: isAnswered ? 'completed' : 'no-answer' },
      },
    );
  }

  async function setDnd(
    account: CrmAccount,
    contactId: string,
    { kind, email }: Extract<CrmChange, { kind: 'opt_out' | 'opt_in' }>,
  ): Promise<CrmAnswer> {
    const channel = email === null ? 'SMS' : 'Email';
    const answer = await getContact(account, contactId);
    const { dnd, dndSettings } = read(OneContact, answer).contact;
    const isOut = isActive(dndSettings?.[channel]);
    if (kind === 'opt_out' ? isOut : !isOut && dnd !== true) return answer;
    // What the contact or HighLevel has turned off for good, or somebody for all channels, is not ours to turn on.
    if (kind === 'opt_in' && (dnd === true || dndSettings?.[channel]?.status === 'permanent'))
      throw new CrmRefused('do_not_disturb_stays');
    const kept = DND_CHANNELS.flatMap((name) => {
      const setting = dndSettings?.[name];
      return setting ? [[name, { status: setting.status, message: setting.message ?? '' }]] : [];
    });
    const status = kind === 'opt_out' ? 'active' : 'inactive';
    const message = kind === 'opt_out' ? 'Opted out in Linepace' : 'Opted in again in Linepace';
    return ask(account, CONTACTS, 'PUT', `/contacts/${encodeURIComponent(contactId)}`, {
      // An object may be replaced as a whole.
      dndSettings: { ...Object.fromEntries(kept), [channel]: { status, message } },
    });
  }

  async function setStatus(
    account: CrmAccount,
    { messageId, isDelivered, reason, at }: Extract<CrmChange, { kind: 'status' }>,
  ): Promise<CrmAnswer> {
    const path = `/conversations/messages/${encodeURIComponent(messageId)}/status`;
    const error = { code: '1', type: 'linepace', message: reason ?? 'not sent' };
    const body = isDelivered ? { status: 'delivered' } : { status: 'failed', error };
    try {
      return await ask(account, CONVERSATIONS, 'PUT', path, body);
    } catch (error) {
      // HighLevel refuses it for some seconds, until it knows itself that the provider has got the message (issue 4).
      if (!(error instanceof CrmDenied)) throw error;
      if (realTime().getTime() - at.getTime() > KNOWN_LATE_MS) throw new CrmRefused('status_refused');
      throw new CrmUnavailable('HighLevel does not take the status of a new message yet', FOUND_LATE_MS);
    }
  }

  return {
    name: 'highlevel',
    title: 'HighLevel',
    async connect({ token, accountId: given }) {
      const isPrivate = token.startsWith('pit-') || appTokenOf(token) !== null;
      const granted = isPrivate ? null : await grant({ grant_type: 'authorization_code', code: token });
      const accountId = granted?.locationId ?? given;
      if (accountId === null)
        throw new CrmDenied('HighLevel needs the id of the location to which the token belongs', 'accountId');
      const account = { accountId, token: granted?.token ?? token };
      await search(account, { readUntil: realTime(), readAfter: null }, 1);
      await searchConversations(account);
      return account;
    },

    async renew(token) {
      const known = appTokenOf(token);
      if (!known || known.expiresAt.getTime() - realTime().getTime() > RENEW_MS) return null;
      const { token: renewed } = await grant({ grant_type: 'refresh_token', refresh_token: known.refresh });
      return renewed;
    },

    async readContacts(account, position): Promise<CrmPage> {
      const answer = await search(account, position);
      const { contacts: found } = read(Found, answer);
      const emails = await userEmails(account, new Set(found.flatMap(({ assignedTo }) => assignedTo ?? [])));
      const contacts: CrmContact[] = [];
      for (const one of found) contacts.push(contactOf(await named(account, one), emails));
      const last = contacts.at(-1);
      const hasMore = found.length === PAGE && last !== undefined;
      return {
        contacts,
        position: hasMore ? positionAfter(position, last.modifiedAt, found.at(-1)?.searchAfter) : position,
        hasMore,
        answeredAt: answeredAt(answer),
      };
    },

    async create(account, person) {
      const { firstName, lastName, companyName, emails, phones, textsOptedOut, emailsOptedOut } = person;
      const setting = { status: 'active', message: 'Opted out in Linepace' };
      const answer = await call(account, CONTACTS, 'POST', '/contacts/', {
        locationId: account.accountId,
        source: 'Linepace',
        ...(firstName !== '' && { firstName }),
        ...(lastName !== '' && { lastName }),
        ...(companyName !== '' && { companyName }),
        ...(emails[0] !== undefined && { email: emails[0] }),
        ...(phones[0] !== undefined && { phone: phones[0] }),
        ...((textsOptedOut || emailsOptedOut) && {
          dndSettings: { ...(textsOptedOut && { SMS: setting }), ...(emailsOptedOut && { Email: setting }) },
        }),
      });
      if (answer.status < 400) return read(OneContact, answer).contact.id;
      // A location that allows no two contacts with one address names the one that has it.
      const { data: duplicate } = z
        .object({ meta: z.object({ contactId: z.string() }) })
        .safeParse(answer.body);
      if (!duplicate) throw new CrmRefused(`highlevel_${answer.status}`);
      const { contactId } = duplicate.meta;
      if (textsOptedOut) await setDnd(account, contactId, { kind: 'opt_out', email: null });
      if (emailsOptedOut) await setDnd(account, contactId, { kind: 'opt_out', email: emails[0] ?? '' });
      return contactId;
    },

    read({ body, header }) {
      const signature = Buffer.from(header('x-ghl-signature'), 'base64');
      if (!verify(null, Buffer.from(body), webhookKey, signature)) throw new BadCrmSignature();
      const { data } = Outbound.safeParse(tryParseUntrustedJson(body));
      return data
        ? {
            accountId: data.locationId,
            contactId: data.contactId,
            messageId: data.messageId,
            phone: data.phone ?? '',
            text: data.message ?? '',
            attachmentUrls: data.attachments ?? [],
          }
        : null;
    },

    async push(account, contactId, change) {
      const pushed =
        'text' in change
          ? logMessage(account, contactId, change)
          : change.kind === 'status'
            ? setStatus(account, change)
            : 'from' in change
              ? logCall(account, contactId, change)
              : setDnd(account, contactId, change);
      // The time of an answer has no fractions of a second.
      return new Date(answeredAt(await pushed).getTime() + 1000);
    },

    idsOf: (accountId, contactId) => ({ crmBContactId: contactId, crmBLocationId: accountId }),
  };
}

/** null: it is a private integration token. */
const appTokenOf = (token: string): AppToken | null =>
  token.startsWith('{') ? (AppToken.safeParse(tryParseUntrustedJson(token)).data ?? null) : null;

const intervalOf = ({ headers }: CrmAnswer): number => {
  const ms = Number(headers.get('x-ratelimit-interval-milliseconds'));
  return ms > 0 && ms <= DAILY_LIMIT_MS ? ms : RATE_LIMIT_MS;
};

const messageOf = ({ body }: CrmAnswer): string => Failure.safeParse(body).data?.message ?? '';

const reasonOf = (failure: z.output<typeof Failure> | undefined): string =>
  failure?.message ? `: ${truncate(toStorable(failure.message), MAX_REASON)}` : '';

const isActive = (setting: z.output<typeof Dnd> | null | undefined): boolean =>
  setting?.status === 'active' || setting?.status === 'permanent';

/** A search begins again at the last change; only among contacts that changed in the same millisecond it is continued. */
function positionAfter(
  { readUntil }: CrmPosition,
  lastChange: Date,
  searchAfter: z.output<typeof SearchAfter> | null | undefined,
): CrmPosition {
  if (lastChange.getTime() > readUntil.getTime()) return { readUntil: lastChange, readAfter: null };
  if (searchAfter) return { readUntil, readAfter: JSON.stringify(searchAfter) };
  return { readUntil: new Date(readUntil.getTime() + 1), readAfter: null };
}

function contactOf(contact: Contact, emails: ReadonlyMap<string, string>): CrmContact {
  const { dnd, dndSettings } = contact;
  const text = (value: string | null | undefined): string => toStorable(value ?? '');
  const several = (first: string | null | undefined, more: readonly string[] | null | undefined): string[] =>
    [first, ...(more ?? [])].flatMap((one) => text(one).trim() || []);
  return {
    id: contact.id,
    modifiedAt: new Date(
      Date.parse(contact.dateUpdated ?? '') || Date.parse(contact.dateAdded ?? '') || realTime().getTime(),
    ),
    firstName: text(contact.firstName),
    lastName: text(contact.lastName),
    companyName: text(contact.companyName),
    jobTitle: '',
    emails: several(contact.email, contact.additionalEmails),
    phones: several(contact.phone, contact.additionalPhones),
    ownerEmail: emails.get(contact.assignedTo ?? '') ?? null,
    // `dnd`: for all channels.
    textsOptedOut: dnd === true || isActive(dndSettings?.SMS),
    emailsOptedOut: dnd === true || isActive(dndSettings?.Email),
  };
}
