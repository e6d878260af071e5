import Router from '@koa/router';
import Koa, { type Context } from 'koa';
import { koaBody } from 'koa-body';
import { z } from 'zod';
import { readVendorContract } from './contract.ts';
import { createContacts, type CrmRequests, type StoredContact, watchRequests } from './crm.ts';
import { refuseInvalid, serve } from './stand-in-server.ts';

/** What was logged on the timeline of a contact. */
export interface HubSpotEngagement {
  object: string;
  contactId: string;
  properties: Record<string, string>;
}

export interface HubSpotStandIn extends CrmRequests {
  url: string;
  token: string;
  portalId: number;
  /** A contact that somebody makes in HubSpot. @returns its id. */
  addContact(properties: Record<string, string>): string;
  /** Somebody imports contacts, which are made at the same moment. @returns their ids. */
  importContacts(imported: readonly Record<string, string>[]): readonly string[];
  /** Somebody changes a contact. */
  change(id: string, properties: Record<string, string>): void;
  /** Somebody deletes a contact. */
  archive(id: string): void;
  addOwner(email: string): string;
  contact(id: string): Record<string, string>;
  /** @returns the id of the contact with a number. */
  contactWith(phone: string): string | undefined;
  /** @returns the ids of all of them. */
  contactsWith(phone: string): readonly string[];
  timeline(contactId: string): readonly HubSpotEngagement[];
  /** The email addresses that were unsubscribed from everything. */
  unsubscribed: ReadonlySet<string>;
  /** The next request `to` a method and path has its effect, and its response is lost. */
  loseResponse(to: string): void;
  /** Whether the token is valid. */
  setRevoked(isRevoked: boolean): void;
  /** Scopes that the token lacks: requests to paths that contain `path` are refused. */
  lackScope(path: string, scope: string): void;
  stop(): Promise<void>;
}

type Contact = StoredContact<Record<string, string>>;

/** How long a change is not found by the search. HubSpot says: "a few moments". */
const FOUND_AFTER_MS = 300;
const MAX_FOUND = 10_000;
const READ_ONLY = new Set(['hs_email_optout', 'lastmodifieddate', 'hs_object_id', 'createdate']);
const PROPERTIES = new Set([
  ...READ_ONLY,
  ...'firstname lastname company jobtitle email hs_additional_emails phone mobilephone hubspot_owner_id'.split(
    ' ',
  ),
]);
const ASSOCIATION_TYPES: Record<string, number> = { communications: 81, emails: 198, calls: 194 };
/** The properties of engagements that the product sets, with what HubSpot allows. */
const ENGAGEMENTS: Record<string, z.ZodType<Record<string, string>>> = {
  communications: z.strictObject({
    hs_timestamp: z.iso.datetime(),
    hs_communication_channel_type: z.enum(['WHATS_APP', 'LINKEDIN_MESSAGE', 'SMS']),
    hs_communication_logged_from: z.literal('CRM'),
    hs_communication_body: z.string().min(1).max(65_536),
  }),
  emails: z.strictObject({
    hs_timestamp: z.iso.datetime(),
    hs_email_direction: z.enum(['EMAIL', 'INCOMING_EMAIL', 'FORWARDED_EMAIL']),
    hs_email_status: z.enum(['BOUNCED', 'FAILED', 'SCHEDULED', 'SENDING', 'SENT']),
    hs_email_subject: z.string(),
    hs_email_text: z.string(),
  }),
  calls: z.strictObject({
    hs_timestamp: z.iso.datetime(),
    hs_call_title: z.string(),
    hs_call_direction: z.enum(['INBOUND', 'OUTBOUND']),
    hs_call_status: z.enum(['COMPLETED', 'NO_ANSWER', 'BUSY', 'FAILED', 'CANCELED']),
    hs_call_duration: z.string().regex(/^\d+$/),
    hs_call_from_number: z.string(),
    hs_call_to_number: z.string(),
  }),
};
const NewEngagement = z.object({
  properties: z.record(z.string(), z.string()),
  associations: z
    .array(
      z.object({
        to: z.object({ id: z.string() }),
        types: z
          .array(z.object({ associationCategory: z.literal('HUBSPOT_DEFINED'), associationTypeId: z.int() }))
          .length(1),
      }),
    )
    .length(1),
});
const Changed = { propertyName: z.literal('lastmodifieddate'), value: z.string().regex(/^\d+$/) };
const Search = z.object({
  filterGroups: z.tuple([
    z.object({
      filters: z.union([
        z.tuple([z.object({ ...Changed, operator: z.literal('GTE') })]),
        z.tuple([
          z.object({ ...Changed, operator: z.literal('EQ') }),
          z.object({
            propertyName: z.literal('hs_object_id'),
            operator: z.literal('GT'),
            value: z.string().regex(/^\d+$/),
          }),
        ]),
      ]),
    }),
  ]),
  sorts: z.tuple([z.enum(['lastmodifieddate', 'hs_object_id'])]),
  properties: z.array(z.string()),
  limit: z.int().min(1).max(200),
  after: z.string().regex(/^\d+$/),
});

/**
 * Simulates the API of HubSpot for private apps. Every request and response is held to the document that HubSpot publishes
 * (contracts/hubspot.json); limits and errors are those of developers.hubspot.com.
 */
export async function startHubSpot(): Promise<HubSpotStandIn> {
  const contract = readVendorContract(new URL('contracts/hubspot.json', import.meta.url));
  const contacts = createContacts<Record<string, string>>(FOUND_AFTER_MS);
  const { write, get: existing, holderOf } = contacts;
  const watched = watchRequests();
  const owners: { id: string; email: string }[] = [];
  const properties = new Set(PROPERTIES);
  const unique = new Set(['email']);
  const engagements: HubSpotEngagement[] = [];
  const unsubscribed = new Set<string>();
  const lost: string[] = [];
  const lacking: { path: string; scope: string }[] = [];
  const token = 'pat-eu1-11111111-2222-3333-4444-555555555555';
  const portalId = 12_345_678;
  let isRevoked = false;
  let last = 512;

  const failure = (context: Context, status: number, category: string, more: object = {}): void => {
    context.status = status;
    context.body = {
      status: 'error',
      message: 'The request was refused',
      correlationId: 'aeb5f871-7f07-4993-9211-075dc63e7cbf',
      category,
      ...more,
    };
  };

  const shown = (id: string, { fields: own, createdAt, modifiedAt }: Contact, names: readonly string[]) => ({
    id,
    archived: false,
    createdAt: new Date(createdAt).toISOString(),
    updatedAt: new Date(modifiedAt).toISOString(),
    properties: Object.fromEntries([
      ...names
        .filter((name) => properties.has(name))
        .flatMap((name) => (own[name] === undefined ? [] : [[name, own[name]]])),
      ['lastmodifieddate', new Date(modifiedAt).toISOString()],
      ['hs_object_id', id],
    ]),
  });

  const routes = new Router();
  routes.get('/account-info/v3/details', (context) => {
    context.body = {
      portalId,
      accountType: 'STANDARD',
      timeZone: 'US/Eastern',
      companyCurrency: 'USD',
      additionalCurrencies: [],
      utcOffset: '-04:00',
      utcOffsetMilliseconds: -14_400_000,
      uiDomain: 'app-eu1.hubspot.com',
      dataHostingLocation: 'eu1',
    };
  });
  routes.get('/crm/v3/properties/contacts/:name', (context) => {
    const name = context.params['name'] ?? '';
    if (!properties.has(name)) return failure(context, 404, 'OBJECT_NOT_FOUND');
    context.body = propertyOf(name);
  });
  routes.post('/crm/v3/properties/contacts', (context) => {
    const { name, hasUniqueValue } = z
      .object({ name: z.string().regex(/^[a-z][a-z0-9_]*$/), hasUniqueValue: z.boolean().default(false) })
      .parse(context.request.body);
    if (properties.has(name)) return failure(context, 409, 'OBJECT_ALREADY_EXISTS');
    properties.add(name);
    if (hasUniqueValue) unique.add(name);
    context.status = 201;
    context.body = propertyOf(name);
  });
  routes.get('/crm/v3/owners', (context) => {
    const at = new Date(0).toISOString();
    const results = owners.map((owner) => ({
      ...owner,
      type: 'PERSON',
      archived: false,
      createdAt: at,
      updatedAt: at,
    }));
    context.body = { results: results.slice(0, Number(context.query['limit'])) };
  });
  routes.post('/crm/v3/objects/contacts/search', (context) => {
    const { filterGroups, properties: names, limit, after } = Search.parse(context.request.body);
    const offset = Number(after);
    if (offset + limit > MAX_FOUND) return failure(context, 400, 'VALIDATION_ERROR');
    const [changed, afterId] = filterGroups[0].filters;
    const found = contacts.found(Number(changed.value));
    const all = afterId
      ? found
          .filter(
            ({ id, version }) =>
              version.modifiedAt === Number(changed.value) && Number(id) > Number(afterId.value),
          )
          .toSorted((a, b) => Number(a.id) - Number(b.id))
      : found;
    const end = offset + limit;
    context.body = {
      total: all.length,
      results: all.slice(offset, end).map(({ id, version }) => shown(id, version, names)),
      ...(end < all.length && { paging: { next: { after: String(end) } } }),
    };
  });
  routes.post('/crm/v3/objects/contacts', (context) => {
    const { properties: given } = z
      .object({ properties: z.record(z.string(), z.string()) })
      .parse(context.request.body);
    if (Object.keys(given).some((name) => !properties.has(name) || READ_ONLY.has(name)))
      return failure(context, 400, 'VALIDATION_ERROR');
    const [known] =
      [...contacts].find(([, { fields }]) => given['email'] && fields['email'] === given['email']) ?? [];
    if (known !== undefined)
      return failure(context, 409, 'CONFLICT', { message: `Contact already exists. Existing ID: ${known}` });
    if ([...unique].some((name) => given[name] && holderOf(name, given[name]) !== undefined))
      return failure(context, 400, 'VALIDATION_ERROR', { message: 'Property values were not valid' });
    const id = String((last += 1));
    write(id, given);
    const contact = existing(id);
    context.status = 201;
    if (contact) context.body = shown(id, contact, Object.keys(given));
  });
  routes.get('/crm/v3/objects/contacts/:id', (context) => {
    const { idProperty } = z.object({ idProperty: z.string().optional() }).parse(context.query);
    if (idProperty !== undefined && !unique.has(idProperty)) return failure(context, 400, 'VALIDATION_ERROR');
    const given = context.params['id'] ?? '';
    const id = idProperty === undefined ? given : (holderOf(idProperty, given) ?? '');
    const contact = existing(id);
    if (!contact) return failure(context, 404, 'OBJECT_NOT_FOUND');
    context.body = shown(id, contact, ['firstname', 'lastname', 'email']);
  });
  routes.patch('/crm/v3/objects/contacts/:id', (context) => {
    const id = context.params['id'] ?? '';
    const given = z
      .object({ properties: z.record(z.string(), z.string()) })
      .parse(context.request.body).properties;
    if (!existing(id)) return failure(context, 404, 'OBJECT_NOT_FOUND');
    if (Object.keys(given).some((name) => !properties.has(name) || READ_ONLY.has(name)))
      return failure(context, 400, 'VALIDATION_ERROR');
    write(id, given);
    const contact = existing(id);
    if (contact) context.body = shown(id, contact, Object.keys(given));
  });
  for (const [object, allowed] of Object.entries(ENGAGEMENTS))
    routes.post(`/crm/v3/objects/${object}`, (context) => {
      const { properties: given, associations } = NewEngagement.parse(context.request.body);
      allowed.parse(given);
      const [association] = associations;
      const contactId = association?.to.id ?? '';
      if (association?.types[0]?.associationTypeId !== ASSOCIATION_TYPES[object])
        return failure(context, 400, 'VALIDATION_ERROR');
      if (!existing(contactId)) return failure(context, 404, 'OBJECT_NOT_FOUND');
      engagements.push({ object, contactId, properties: given });
      // The last activity of the contact changes.
      write(contactId, {});
      const at = new Date().toISOString();
      context.status = 201;
      context.body = {
        id: String((last += 1)),
        archived: false,
        createdAt: at,
        updatedAt: at,
        properties: given,
      };
    });
  routes.post('/communication-preferences/v4/statuses/:subscriber/unsubscribe-all', (context) => {
    const email = context.params['subscriber'] ?? '';
    unsubscribed.add(email);
    for (const [id, { fields }] of contacts)
      if (fields['email'] === email) write(id, { hs_email_optout: 'true' });
    const at = new Date().toISOString();
    context.body = { status: 'COMPLETE', startedAt: at, completedAt: at, results: [] };
  });

  const app = new Koa();
  app.use(watched.note);
  app.use(refuseInvalid((context) => failure(context, 400, 'VALIDATION_ERROR')));
  app.use(koaBody());
  app.use(watched.fail);
  app.use(async (context, next) => {
    if (context.get('authorization') !== `Bearer ${token}` || isRevoked)
      return failure(context, 401, isRevoked ? 'EXPIRED_AUTHENTICATION' : 'INVALID_AUTHENTICATION');
    const missing = lacking.find(({ path }) => context.path.includes(path));
    if (missing)
      return failure(context, 403, 'MISSING_SCOPES', {
        context: { requiredGranularScopes: [missing.scope] },
      });
    const { method, path, query, request } = context;
    const { status, checkResponse } = contract.checkRequest({ method, path, query, body: request.body });
    await next();
    if (context.status >= 400) return;
    if (context.status !== status)
      throw new Error(`${method} ${path} responds ${context.status}, not ${status}`);
    checkResponse(context.body);
    const losing = lost.indexOf(`${method} ${path}`);
    if (losing === -1) return;
    lost.splice(losing, 1);
    context.respond = false;
    context.req.socket.destroy();
  });
  app.use(routes.routes());
  const server = await serve(app);

  return {
    url: server.url,
    token,
    portalId,
    addContact(given) {
      const id = String((last += 1));
      write(id, given);
      return id;
    },
    importContacts(imported) {
      const now = Date.now();
      return imported.map((given) => {
        const id = String((last += 1));
        write(id, given, false, now);
        return id;
      });
    },
    change: (id, given) => write(id, given),
    archive: (id) => write(id, {}, true),
    addOwner(email) {
      const id = String((last += 1));
      owners.push({ id, email });
      return id;
    },
    contact: (id) => existing(id)?.fields ?? {},
    contactWith: (phone) => holderOf('phone', phone),
    contactsWith: (phone) =>
      [...contacts].flatMap(([id, { fields }]) => (fields['phone'] === phone ? [id] : [])),
    timeline: (contactId) => engagements.filter((one) => one.contactId === contactId),
    unsubscribed,
    fault: watched.fault,
    loseResponse: (to) => void lost.push(to),
    setRevoked: (given) => void (isRevoked = given),
    lackScope: (path, scope) => void lacking.push({ path, scope }),
    requests: watched.requests,
    stop: () => server.stop(),
  };
}

/** As far as the product reads it. */
const propertyOf = (name: string) => ({
  name,
  label: name,
  type: 'bool',
  fieldType: 'booleancheckbox',
  groupName: 'contactinformation',
  description: '',
  options: [],
});
