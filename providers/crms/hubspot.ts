import { z } from 'zod';
import { realTime } from '#domain/base/clock.ts';
import { firstOf } from '#domain/base/bounded-schema.ts';
import { toStorable, truncate } from '#domain/base/text.ts';
import type { CrmContact } from '#domain/crm/contact.ts';
import type { CrmChange } from '#domain/crm/change.ts';
import { retryAfterMs } from '#domain/base/retry-after.ts';
import { answeredAt, type CrmAnswer, crmRequests } from './crm-request.ts';
import {
  type CrmAccount,
  CrmDenied,
  type CrmPage,
  type CrmPosition,
  type CrmProvider,
  CrmRefused,
  CrmUnavailable,
} from './crm.ts';

/** The property of contacts with which texts are opted out of: HubSpot's own subscriptions are about email only. */
const OPT_OUT = 'linepace_opt_out';
/** The property with the address of whom we have made a contact: HubSpot refuses a second one with it. Only emails are unique otherwise. */
const MADE_FOR = 'linepace_made_for';
const PROPERTIES = [
  'firstname',
  'lastname',
  'company',
  'jobtitle',
  'email',
  'hs_additional_emails',
  'phone',
  'mobilephone',
  'hubspot_owner_id',
  'hs_email_optout',
  'lastmodifieddate',
  OPT_OUT,
];
/** Of a search. */
const PAGE = 200;
/** No search returns more, whatever page is asked for (developers.hubspot.com, Search the CRM). */
const MAX_FOUND = 10_000;
const OWNERS = 500;
/** Types of associations with a contact that HubSpot defines (developers.hubspot.com, Associations). */
const TO_CONTACT = { communications: 81, emails: 198, calls: 194 } as const;
/** The limit per ten seconds, if HubSpot does not say which was exceeded. */
const RATE_LIMIT_MS = 10_000;
/** The daily limit ends at midnight in the zone of the account, which it does not say. */
const DAILY_LIMIT_MS = 3_600_000;
const MAX_REASON = 200;
const MAX_SCOPES = 50;
const MAX_TEXT = 60_000;

const OWN_PROPERTIES = [
  {
    name: OPT_OUT,
    label: 'Opted out of texts (Linepace)',
    groupName: 'contactinformation',
    type: 'bool',
    fieldType: 'booleancheckbox',
    options: [
      { label: 'Yes', value: 'true', hidden: false },
      { label: 'No', value: 'false', hidden: false },
    ],
  },
  {
    name: MADE_FOR,
    label: 'Made for (Linepace)',
    groupName: 'contactinformation',
    type: 'string',
    fieldType: 'text',
    hasUniqueValue: true,
    hidden: true,
  },
];

/** HubSpot Developer Changelog, Unique Properties support for newly created Contact properties. */
const UNIQUE_LIMIT =
  '. Contacts have at most ten properties with unique values: if there are as many, delete one in HubSpot and connect again';

const Failure = z.object({
  message: z.string().default(''),
  category: z.string().default(''),
  policyName: z.string().optional(),
  context: z.record(z.string(), firstOf(z.string(), MAX_SCOPES)).optional(),
});
const Found = z.object({
  results: firstOf(
    z.object({
      id: z.string(),
      properties: z.record(z.string(), z.string().nullable()),
      updatedAt: z.string(),
    }),
    PAGE,
  ),
  paging: z.object({ next: z.object({ after: z.string() }).optional() }).nullish(),
});
const Owners = z.object({
  results: firstOf(z.object({ id: z.string(), email: z.string().optional() }), OWNERS),
  paging: z.object({ next: z.object({ after: z.string() }).optional() }).nullish(),
});

export interface HubSpotOptions {
  /** Another server with the API; null: HubSpot's. */
  apiUrl: string | null;
  /** PEM file of its authority; null: a public one. */
  caFile: string | null;
}

/** An account of HubSpot, with the token of a private app. */
export function createHubSpot({ apiUrl, caFile }: HubSpotOptions): CrmProvider {
  const askCrm = crmRequests('HubSpot', caFile);
  const base = (apiUrl ?? 'https://api.hubapi.com').replace(/\/$/, '');

  /** @throws CrmDenied, CrmUnavailable */
  async function call(
    { token }: CrmAccount,
    method: string,
    path: string,
    body?: object,
  ): Promise<CrmAnswer> {
    const headers = { authorization: `Bearer ${token}` };
    const answer = await askCrm(base + path, { method, headers, body });
    const { status } = answer;
    if (status < 400) return answer;
    const failure = Failure.safeParse(answer.body).data;
    if (status === 401) throw new CrmDenied(`HubSpot refuses the token${categoryOf(failure)}`);
    if (status === 403) throw new CrmDenied(`The token may not do everything${scopesOf(failure)}`);
    if (status === 429) {
      const isDaily = failure?.policyName === 'DAILY';
      const asked = retryAfterMs(answer.headers.get('retry-after'), realTime());
      const limit = isDaily ? 'of a day' : 'of ten seconds';
      throw new CrmUnavailable(
        `HubSpot's limit ${limit} is reached`,
        asked ?? (isDaily ? DAILY_LIMIT_MS : RATE_LIMIT_MS),
      );
    }
    // What another server than HubSpot's answers is not about the request.
    if (status >= 500 || !failure)
      throw new CrmUnavailable(
        `HubSpot responded ${status}`,
        retryAfterMs(answer.headers.get('retry-after'), realTime()),
      );
    return answer;
  }

  /** @throws CrmDenied, CrmUnavailable, CrmRefused */
  async function ask(...request: Parameters<typeof call>): Promise<CrmAnswer> {
    const answer = await call(...request);
    if (answer.status < 400) return answer;
    throw new CrmRefused(answer.status === 404 ? 'contact_not_found' : `hubspot_${answer.status}`);
  }

  function read<T extends z.ZodType>(schema: T, { status, body }: CrmAnswer): z.output<T> {
    const parsed = schema.safeParse(body);
    if (!parsed.success) throw new CrmUnavailable(`HubSpot responded ${status}, not in its own form`);
    return parsed.data;
  }

  /** The emails of the owners in the account, by id. */
  async function ownerEmails(account: CrmAccount): Promise<Map<string, string>> {
    const emails = new Map<string, string>();
    let after: string | undefined;
    do {
      const query = new URLSearchParams({ limit: String(OWNERS), ...(after !== undefined && { after }) });
      const { results, paging } = read(
        Owners,
        await ask(account, 'GET', `/crm/v3/owners?${query.toString()}`),
      );
      for (const { id, email } of results) if (email !== undefined) emails.set(id, email);
      after = paging?.next?.after;
    } while (after !== undefined && emails.size < MAX_FOUND);
    return emails;
  }

  const search = (account: CrmAccount, position: CrmPosition, limit = PAGE): Promise<CrmAnswer> => {
    const { readUntil, readAfter } = position;
    const afterId = afterIdOf(position);
    const changed = { propertyName: 'lastmodifieddate', value: String(readUntil.getTime()) };
    return ask(account, 'POST', '/crm/v3/objects/contacts/search', {
      filterGroups: [
        {
          filters:
            afterId === null
              ? [{ ...changed, operator: 'GTE' }]
              : [
                  { ...changed, operator: 'EQ' },
                  { propertyName: 'hs_object_id', operator: 'GT', value: afterId },
                ],
        },
      ],
      sorts: [afterId === null ? 'lastmodifieddate' : 'hs_object_id'],
      properties: PROPERTIES,
      limit,
      after: afterId === null ? (readAfter ?? '0') : '0',
    });
  };

  const log = (
    account: CrmAccount,
    contactId: string,
    object: keyof typeof TO_CONTACT,
    properties: Record<string, string>,
  ): Promise<CrmAnswer> =>
    ask(account, 'POST', `/crm/v3/objects/${object}`, {
      properties,
      associations: [
        {
          to: { id: contactId },
          types: [{ associationCategory: 'HUBSPOT_DEFINED', associationTypeId: TO_CONTACT[object] }],
        },
      ],
    });

  async function put(
    account: CrmAccount,
    contactId: string,
    change: Exclude<CrmChange, { kind: 'contact' }>,
  ): Promise<CrmAnswer> {
    if ('text' in change) return log(account, contactId, ...messageOf(change));
    // Nothing that is sent is written in HubSpot.
    if (change.kind === 'status') throw new CrmRefused('not_written_there');
    if ('from' in change) return log(account, contactId, 'calls', callOf(change));
    if (change.email === null) {
      const properties = { [OPT_OUT]: String(change.kind === 'opt_out') };
      return ask(account, 'PATCH', `/crm/v3/objects/contacts/${encodeURIComponent(contactId)}`, {
        properties,
      });
    }
    // Only the contact itself can subscribe to emails again.
    if (change.kind === 'opt_in') throw new CrmRefused('emails_cannot_be_resubscribed');
    const subscriber = encodeURIComponent(change.email);
    return ask(
      account,
      'POST',
      `/communication-preferences/v4/statuses/${subscriber}/unsubscribe-all?channel=EMAIL`,
    );
  }

  /** Makes the properties of contacts that are ours, unless they are there. */
  async function prepare(account: CrmAccount): Promise<void> {
    for (const property of OWN_PROPERTIES) {
      const found = await call(account, 'GET', `/crm/v3/properties/contacts/${property.name}`);
      if (found.status !== 404) continue;
      const created = await call(account, 'POST', '/crm/v3/properties/contacts', property);
      // 409: another process was faster.
      if (created.status >= 400 && created.status !== 409) {
        const said = truncate(toStorable(messageOfFailure(created)), MAX_REASON);
        const hint = 'hasUniqueValue' in property ? UNIQUE_LIMIT : '';
        throw new CrmDenied(
          `HubSpot refuses the property ${property.name} of contacts${said && `: ${said}`}${hint}`,
        );
      }
    }
  }

  /** The contact that was made for an address; null: none. */
  async function madeFor(account: CrmAccount, address: string): Promise<string | null> {
    const path = `/crm/v3/objects/contacts/${encodeURIComponent(address)}?idProperty=${MADE_FOR}`;
    const answer = await call(account, 'GET', path);
    return answer.status < 400 ? read(z.object({ id: z.string() }), answer).id : null;
  }

  return {
    name: 'hubspot',
    title: 'HubSpot',
    async connect({ token }) {
      const account = { accountId: '', token };
      const Account = z.object({ portalId: z.int() });
      const { portalId } = read(Account, await ask(account, 'GET', '/account-info/v3/details'));
      await prepare(account);
      await search(account, { readUntil: realTime(), readAfter: null }, 1);
      await ask(account, 'GET', '/crm/v3/owners?limit=1');
      return { accountId: String(portalId), token };
    },

    async readContacts(account, position): Promise<CrmPage> {
      const answer = await search(account, position);
      const { results, paging } = read(Found, answer);
      const owners = results.some(({ properties }) => properties['hubspot_owner_id'])
        ? await ownerEmails(account)
        : new Map<string, string>();
      const contacts = results.map((result) => contactOf(result, owners));
      const at = answeredAt(answer);
      const after = paging?.next?.after ?? null;
      const next = positionAfter(position, contacts.at(-1), after);
      return { contacts, position: next ?? position, hasMore: next !== null, answeredAt: at };
    },

    async create(account, person) {
      const { firstName, lastName, companyName, jobTitle, emails, phones, textsOptedOut, emailsOptedOut } =
        person;
      const address = phones[0] ?? emails[0] ?? '';
      const properties = {
        firstname: firstName,
        lastname: lastName,
        company: companyName,
        jobtitle: jobTitle,
        email: emails[0] ?? '',
        phone: phones[0] ?? '',
        [OPT_OUT]: textsOptedOut ? 'true' : '',
        [MADE_FOR]: address,
      };
      const given = Object.fromEntries(Object.entries(properties).filter(([, value]) => value !== ''));
      const answer = await call(account, 'POST', '/crm/v3/objects/contacts', {
        properties: given,
        associations: [],
      });
      // "Contact already exists. Existing ID: 101"
      const known = answer.status === 409 && /Existing ID: (\d+)/.exec(messageOfFailure(answer))?.[1];
      // It was made before, and the response was lost.
      const existing = answer.status < 400 ? null : known || (await madeFor(account, address));
      if (answer.status >= 400 && !existing) throw new CrmRefused(`hubspot_${answer.status}`);
      const id = existing ?? read(z.object({ id: z.string() }), answer).id;
      if (existing && textsOptedOut) await put(account, id, { kind: 'opt_out', email: null });
      if (emailsOptedOut) for (const email of emails) await put(account, id, { kind: 'opt_out', email });
      return id;
    },

    async push(account, contactId, change) {
      // The time of an answer has no fractions of a second.
      return new Date(answeredAt(await put(account, contactId, change)).getTime() + 1000);
    },

    idsOf: (accountId, contactId) => ({ crmAContactId: contactId, crmAPortalId: accountId }),
  };
}

/**
 * Where to read on; null: that is all. A search begins again at the last change, because what changes in the meantime moves to its end;
 * only among contacts that changed in the same millisecond it is continued: by its own position as far as that goes, then by their ids.
 */
function positionAfter(
  position: CrmPosition,
  last: CrmContact | undefined,
  after: string | null,
): CrmPosition | null {
  const { readUntil } = position;
  const isById = afterIdOf(position) !== null;
  if (!last || after === null)
    return isById ? { readUntil: new Date(readUntil.getTime() + 1), readAfter: null } : null;
  if (isById) return { readUntil, readAfter: BY_ID + last.id };
  if (last.modifiedAt.getTime() > readUntil.getTime()) return { readUntil: last.modifiedAt, readAfter: null };
  return { readUntil, readAfter: Number(after) < MAX_FOUND ? after : `${BY_ID}0` };
}

/** Begins the position of a search by ids: the last id follows. */
const BY_ID = 'id ';

const afterIdOf = ({ readAfter }: CrmPosition): string | null =>
  readAfter?.startsWith(BY_ID) ? readAfter.slice(BY_ID.length) : null;

function contactOf(
  { id, properties, updatedAt }: z.output<typeof Found>['results'][number],
  owners: ReadonlyMap<string, string>,
): CrmContact {
  const text = (name: string): string => toStorable(properties[name] ?? '');
  const several = (...names: string[]): string[] =>
    names.flatMap((name) => text(name).split(';')).flatMap((one) => one.trim() || []);
  return {
    id,
    modifiedAt: new Date(Date.parse(text('lastmodifieddate')) || Date.parse(updatedAt)),
    firstName: text('firstname'),
    lastName: text('lastname'),
    companyName: text('company'),
    jobTitle: text('jobtitle'),
    emails: several('email', 'hs_additional_emails'),
    phones: several('mobilephone', 'phone'),
    ownerEmail: owners.get(text('hubspot_owner_id')) ?? null,
    textsOptedOut: text(OPT_OUT) === 'true',
    emailsOptedOut: text('hs_email_optout') === 'true',
  };
}

function messageOf(
  change: Extract<CrmChange, { kind: 'message' | 'reply' }>,
): ['communications' | 'emails', Record<string, string>] {
  const text = truncate(change.text, MAX_TEXT);
  const at = change.at.toISOString();
  if (change.channel === 'email')
    return [
      'emails',
      {
        hs_timestamp: at,
        hs_email_direction: change.kind === 'reply' ? 'INCOMING_EMAIL' : 'EMAIL',
        hs_email_status: 'SENT',
        hs_email_subject: change.subject ?? '',
        hs_email_text: text,
      },
    ];
  // A communication of HubSpot has no direction.
  const who = change.kind === 'reply' ? 'The contact wrote' : 'We wrote';
  return [
    'communications',
    {
      hs_timestamp: at,
      hs_communication_channel_type: 'SMS',
      hs_communication_logged_from: 'CRM',
      hs_communication_body: `${who}: ${text}`,
    },
  ];
}

const callOf = (change: Extract<CrmChange, { kind: 'call' }>): Record<string, string> => ({
  hs_timestamp: change.at.toISOString(),
  hs_call_title: 'Call',
  hs_call_direction: change.isOutbound ? 'OUTBOUND' : 'INBOUND',
  hs_call_status: change.isAnswered ? 'COMPLETED' : 'NO_ANSWER',
  hs_call_duration: String(Math.round(change.durationSec * 1000)),
  hs_call_from_number: change.from,
  hs_call_to_number: change.to,
});

const messageOfFailure = ({ body }: CrmAnswer): string => Failure.safeParse(body).data?.message ?? '';

const categoryOf = (failure: z.output<typeof Failure> | undefined): string =>
  failure?.category ? `: ${truncate(toStorable(failure.category), MAX_REASON)}` : '';

/** HubSpot names the scopes that are missing. */
const scopesOf = (failure: z.output<typeof Failure> | undefined): string => {
  const scopes = Object.values(failure?.context ?? {}).flat();
  return scopes.length > 0 ? `: it lacks ${truncate(toStorable(scopes.join(', ')), MAX_REASON)}` : '';
};
