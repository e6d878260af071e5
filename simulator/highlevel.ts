import { generateKeyPairSync, sign } from 'node:crypto';
import Router from '@koa/router';
import Koa, { type Context } from 'koa';
import { koaBody } from 'koa-body';
import { z } from 'zod';
import { parseOwnJson } from '#domain/base/own-json.ts';
import { readVendorContract } from './contract.ts';
import { createContacts, type CrmRequests, type StoredContact, watchRequests } from './crm.ts';
import { refuseInvalid, serve } from './stand-in-server.ts';

/** What a conversation of HighLevel shows. */
export interface HighLevelMessage {
  id: string;
  contactId: string;
  type: string;
  direction: string;
  message: string;
  status: string;
  providerId: string | null;
  call: { from: string; to: string; status: string } | null;
  /** Of an email. */
  subject: string | null;
}

export interface HighLevelStandIn extends CrmRequests {
  url: string;
  locationId: string;
  /** A private integration token of the location. */
  token: string;
  app: { clientId: string; clientSecret: string; smsProviderId: string; callProviderId: string };
  /** The key with which HighLevel's requests are verified, PEM. */
  publicKey: string;
  /** Somebody adds the app to the location. @returns the code that the app gets. */
  install(): string;
  /** The tokens of the app that were granted so far are accepted no more, and grants are for so many seconds. */
  expireTokens(validSeconds?: number): void;
  /** A contact that somebody makes in HighLevel. @returns its id. */
  addContact(fields: Record<string, unknown>): string;
  /** Somebody changes a contact. */
  change(id: string, fields: Record<string, unknown>): void;
  archive(id: string): void;
  addUser(email: string): string;
  contact(id: string): Record<string, unknown>;
  /** @returns the id of the contact with a number. */
  contactWith(phone: string): string | undefined;
  timeline(contactId: string): readonly HighLevelMessage[];
  notes(contactId: string): readonly string[];
  /** Somebody writes to a contact with the app's provider. @returns the message's id, and the request to its delivery URL. */
  write(
    contactId: string,
    message: string,
    more?: Record<string, unknown>,
  ): { messageId: string; body: string; headers: Record<string, string> };
  message(id: string): HighLevelMessage | null;
  /** Requests whose body contains `text` are answered 500, until it is null. */
  failOn(text: string | null): void;
  stop(): Promise<void>;
}

type Contact = StoredContact<Record<string, unknown>>;

/** How long a change is not found by the search. HighLevel says: "a few seconds". */
const FOUND_AFTER_MS = 300;
const MESSAGE_LIMIT = 100;
const LIMIT_MS = 10_000;
/** The search, whose body is not in the published document, as the page that it links to describes it. */
const Search = z.strictObject({
  locationId: z.string(),
  pageLimit: z.int().min(1).max(500),
  filters: z.tuple([
    z.strictObject({
      field: z.literal('dateUpdated'),
      operator: z.literal('range'),
      value: z.strictObject({ gte: z.iso.datetime() }),
    }),
  ]),
  sort: z.tuple([z.strictObject({ field: z.literal('dateUpdated'), direction: z.enum(['asc', 'desc']) })]),
  searchAfter: z.tuple([z.number(), z.string()]).optional(),
});
const NewMessage = z.object({
  type: z.string(),
  conversationId: z.string(),
  conversationProviderId: z.string().optional(),
  direction: z.enum(['inbound', 'outbound']).optional(),
  message: z.string().optional(),
  subject: z.string().optional(),
  call: z.object({ from: z.string(), to: z.string(), status: z.string() }).optional(),
});

/**
 * Simulates the API of HighLevel for one location. Every request and response is held to the document that HighLevel publishes
 * (contracts/highlevel.json); limits and errors are those of its documentation and of what its users report.
 */
export async function startHighLevel(): Promise<HighLevelStandIn> {
  const contract = readVendorContract(new URL('contracts/highlevel.json', import.meta.url));
  const keys = generateKeyPairSync('ed25519');
  const contacts = createContacts<Record<string, unknown>>(FOUND_AFTER_MS);
  const { write, get: existing } = contacts;
  const watched = watchRequests();
  const users = new Map<string, string>();
  const conversations = new Map<string, string>();
  const messages: HighLevelMessage[] = [];
  const notes: { contactId: string; body: string }[] = [];
  const locationId = 've9EPM428h8vShlRW1KT';
  const token = 'pit-11111111-2222-3333-4444-555555555555';
  const app = {
    clientId: '65c0a0b0c0d0e0f0a0b0c0d0-lrabcdef',
    clientSecret: '11111111-aaaa-bbbb-cccc-222222222222',
    smsProviderId: '61d6d1f9cdac7612faf80753',
    callProviderId: '61d6d1f9cdac7612faf80754',
  };
  let failing: string | null = null;
  const codes = new Set<string>();
  const refreshTokens = new Set<string>();
  const accessTokens = new Set<string>();
  let validSeconds = 86_399;
  let last = 100_000;

  const newId = (prefix: string): string =>
    `${prefix}${String((last += 1)).padStart(20 - prefix.length, '0')}`;
  const failure = (context: Context, status: number, message: string, more: object = {}): void => {
    context.status = status;
    context.body = { statusCode: status, message, ...more };
  };

  const shown = (id: string, { fields, modifiedAt }: Contact) => ({
    ...fields,
    id,
    locationId,
    dateUpdated: new Date(modifiedAt).toISOString(),
  });
  const lower = (value: unknown): string => (typeof value === 'string' ? value.toLowerCase() : '');
  const routes = new Router();
  routes.post('/oauth/token', (context) => {
    const given = z
      .object({
        client_id: z.literal(app.clientId),
        client_secret: z.literal(app.clientSecret),
        grant_type: z.enum(['authorization_code', 'refresh_token']),
        code: z.string().optional(),
        refresh_token: z.string().optional(),
      })
      .parse(context.request.body);
    const isKnown =
      given.grant_type === 'refresh_token'
        ? refreshTokens.delete(given.refresh_token ?? '')
        : codes.delete(given.code ?? '');
    if (!isKnown) {
      context.status = 400;
      context.body = { error: 'invalid_grant', error_description: 'Invalid grant', message: 'Invalid grant' };
      return;
    }
    const access = newId('access');
    const refresh = newId('refresh');
    accessTokens.add(access);
    refreshTokens.add(refresh);
    context.body = {
      access_token: access,
      token_type: 'Bearer',
      expires_in: validSeconds,
      refresh_token: refresh,
      scope: 'contacts.readonly contacts.write conversations/message.write',
      userType: 'Location',
      locationId,
      companyId: newId('company'),
      userId: newId('user'),
    };
  });
  routes.post('/contacts/search', (context) => {
    const { locationId: given, pageLimit, filters, searchAfter } = Search.parse(context.request.body);
    if (given !== locationId)
      return failure(context, 403, 'The token does not have access to this location.');
    const since = Date.parse(filters[0].value.gte);
    const all = contacts.found(since);
    const rest = all.filter(
      ({ id, version: { modifiedAt } }) =>
        !searchAfter || modifiedAt > searchAfter[0] || (modifiedAt === searchAfter[0] && id > searchAfter[1]),
    );
    context.body = {
      contacts: rest.slice(0, pageLimit).map(({ id, version }) => {
        const { firstName, lastName, ...fields } = shown(id, version) as Record<string, unknown>;
        // Some contacts have their names in lower case only, as users report.
        const names = id.endsWith('0') ? { firstName, lastName } : {};
        return {
          ...fields,
          ...names,
          firstNameLowerCase: lower(firstName),
          lastNameLowerCase: lower(lastName),
          searchAfter: [version.modifiedAt, id],
        };
      }),
      total: all.length,
    };
  });
  routes.post('/contacts/', (context) => {
    const given = z.record(z.string(), z.unknown()).parse(context.request.body);
    for (const field of ['phone', 'email'] as const) {
      const contactId = contacts.holderOf(field, given[field]);
      if (contactId)
        return failure(context, 400, 'This location does not allow duplicated contacts.', {
          meta: { contactId, contactName: '', matchingField: field },
        });
    }
    const id = newId('ct');
    write(id, given);
    context.status = 201;
    context.body = { contact: { id, ...given } };
  });
  routes.get('/contacts/:id', (context) => {
    const id = context.params['id'] ?? '';
    const contact = existing(id);
    if (!contact) return failure(context, 400, `Contact with id ${id} not found`);
    context.body = { contact: shown(id, contact) };
  });
  routes.put('/contacts/:id', (context) => {
    const id = context.params['id'] ?? '';
    if (!existing(id)) return failure(context, 400, `Contact with id ${id} not found`);
    write(id, z.record(z.string(), z.unknown()).parse(context.request.body));
    const contact = existing(id);
    context.body = { succeded: true, contact: contact && shown(id, contact) };
  });
  routes.post('/contacts/:id/notes', (context) => {
    const contactId = context.params['id'] ?? '';
    if (!existing(contactId)) return failure(context, 400, `Contact with id ${contactId} not found`);
    const { body } = z.object({ body: z.string().min(1) }).parse(context.request.body);
    notes.push({ contactId, body });
    context.status = 201;
    context.body = { note: { id: newId('note'), body, contactId } };
  });
  routes.get('/users/:id', (context) => {
    const id = context.params['id'] ?? '';
    const email = users.get(id);
    if (email === undefined) return failure(context, 404, 'User not found');
    context.body = { id, email };
  });
  routes.get('/conversations/search', (context) => {
    const { contactId } = context.query as Record<string, string>;
    const known = [...conversations].filter(([, of]) => contactId === undefined || of === contactId);
    context.body = {
      conversations: known.slice(0, Number(context.query['limit'] ?? 20)).map(([id, of]) => ({
        id,
        contactId: of,
        locationId,
        lastMessageBody: '',
        lastMessageType: 'TYPE_SMS',
        type: 'TYPE_PHONE',
        unreadCount: 0,
        fullName: '',
        contactName: '',
        email: '',
        phone: '',
      })),
      total: known.length,
    };
  });
  routes.post('/conversations/', (context) => {
    const { contactId } = z.object({ contactId: z.string() }).parse(context.request.body);
    if (!existing(contactId)) return failure(context, 400, `Contact with id ${contactId} not found`);
    if ([...conversations.values()].includes(contactId))
      return failure(context, 400, `Conversation with the contact id:${contactId} already exists!`);
    const id = newId('cv');
    conversations.set(id, contactId);
    const at = new Date().toISOString();
    context.status = 201;
    context.body = {
      success: true,
      conversation: {
        id,
        contactId,
        locationId,
        deleted: false,
        dateAdded: at,
        dateUpdated: at,
        lastMessageDate: at,
      },
    };
  });
  for (const kind of ['inbound', 'outbound'] as const)
    routes.post(`/conversations/messages/${kind}`, (context) => {
      const given = NewMessage.parse(context.request.body);
      const contactId = conversations.get(given.conversationId) ?? '';
      if (!existing(contactId)) return failure(context, 400, 'Contact not found');
      const providerId = given.conversationProviderId ?? null;
      const isApp = accessTokens.has(bearerOf(context));
      if (providerId !== null && !(isApp && providerId === providerOf(given.type)))
        return failure(
          context,
          401,
          `You don't have access to the conversationProvider with id: ${providerId}`,
        );
      const message = {
        id: newId('ms'),
        contactId,
        type: given.type,
        direction: kind === 'outbound' ? 'outbound' : (given.direction ?? 'outbound'),
        message: given.message ?? '',
        status: 'delivered',
        providerId,
        call: given.call ?? null,
        subject: given.subject ?? null,
      };
      messages.push(message);
      const { id: messageId, conversationId } = { ...message, conversationId: given.conversationId };
      context.body = { success: true, conversationId, messageId, message: 'Created the message', contactId };
    });
  routes.put('/conversations/messages/:id/status', (context) => {
    const message = messages.find(({ id }) => id === context.params['id']);
    if (!message) return failure(context, 403, 'No conversation provider found for this message');
    if (!accessTokens.has(bearerOf(context)) || message.providerId !== app.smsProviderId)
      return failure(context, 401, 'No conversation provider found for this message');
    const { status } = z.object({ status: z.string() }).parse(context.request.body);
    message.status = status;
    context.body = { conversationId: newId('cv'), messageId: message.id, status };
  });

  const bearerOf = (context: Context): string => context.get('authorization').replace('Bearer ', '');
  const providerOf = (type: string): string => (type === 'Call' ? app.callProviderId : app.smsProviderId);
  let windowFrom = 0;
  let inWindow = 0;

  const koa = new Koa();
  koa.use(watched.note);
  koa.use(
    refuseInvalid((context, error) =>
      failure(context, 422, error.issues.map(({ message }) => message).join(', ')),
    ),
  );
  koa.use(koaBody());
  koa.use(watched.fail);
  koa.use(async (context, next) => {
    const { method, path, query, headers, request } = context;
    if (failing !== null && JSON.stringify(request.body)?.includes(failing))
      return failure(context, 500, 'Internal server error');
    if (path !== '/oauth/token') {
      const bearer = bearerOf(context);
      if (bearer !== token && !accessTokens.has(bearer)) return failure(context, 401, 'Invalid JWT');
      if (Date.now() - windowFrom > LIMIT_MS) [windowFrom, inWindow] = [Date.now(), 0];
      inWindow += 1;
      context.set({
        'x-ratelimit-max': String(MESSAGE_LIMIT),
        'x-ratelimit-interval-milliseconds': String(LIMIT_MS),
      });
      if (inWindow > MESSAGE_LIMIT) return failure(context, 429, 'Too Many Requests');
    }
    const { status, checkResponse } = contract.checkRequest({
      method,
      path,
      query,
      headers,
      body: request.body,
    });
    await next();
    if (context.status >= 400) return;
    if (context.status !== status)
      throw new Error(`${method} ${path} responds ${context.status}, not ${status}`);
    // Without what is undefined, as it is sent.
    checkResponse(parseOwnJson(JSON.stringify(context.body)));
  });
  koa.use(routes.routes());
  const server = await serve(koa);

  return {
    url: server.url,
    locationId,
    token,
    app,
    publicKey: keys.publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    install() {
      const code = newId('code');
      codes.add(code);
      return code;
    },
    expireTokens(given = validSeconds) {
      accessTokens.clear();
      validSeconds = given;
    },
    addContact(fields) {
      const id = newId('ct');
      write(id, fields);
      return id;
    },
    change: (id, fields) => write(id, fields),
    archive: (id) => write(id, {}, true),
    addUser(email) {
      const id = newId('us');
      users.set(id, email);
      return id;
    },
    contact: (id) => existing(id)?.fields ?? {},
    contactWith: (phone) => contacts.holderOf('phone', phone),
    timeline: (contactId) => messages.filter((one) => one.contactId === contactId),
    notes: (contactId) => notes.filter((one) => one.contactId === contactId).map(({ body }) => body),
    write(contactId, message, more = {}) {
      const messageId = newId('ms');
      messages.push({
        id: messageId,
        contactId,
        type: 'SMS',
        direction: 'outbound',
        message,
        status: 'pending',
        providerId: app.smsProviderId,
        call: null,
        subject: null,
      });
      const { phone } = existing(contactId)?.fields ?? {};
      const body = JSON.stringify({
        contactId,
        locationId,
        messageId,
        type: 'SMS',
        phone,
        message,
        attachments: [],
        userId: 'GK56r6wdJDrkUPd0xsmx',
        ...more,
      });
      const signature = sign(null, Buffer.from(body), keys.privateKey).toString('base64');
      return {
        messageId,
        body,
        headers: { 'content-type': 'application/json', 'x-ghl-signature': signature },
      };
    },
    message: (id) => messages.find((one) => one.id === id) ?? null,
    fault: watched.fault,
    failOn: (text) => void (failing = text),
    requests: watched.requests,
    stop: () => server.stop(),
  };
}
