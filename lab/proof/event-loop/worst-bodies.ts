import { gzipSync } from 'node:zlib';
import { z } from 'zod';
import type { ChatProviderName } from '../../../domain/drafts/chat.ts';
import type { Route } from '../../../api/http/route.ts';
import { LinqWebhook } from '../../../providers/carriers/linq/webhook.ts';
import { Reported } from '../../../providers/carriers/sendblue.ts';
import { BlueBubblesMessage } from '../../../providers/carriers/bluebubbles/protocol.ts';
import { InboundEmail } from '../../../providers/carriers/smtp/inbound-email.ts';

/** A body, and the headers that say what it is. */
export interface Body {
  content: Buffer;
  headers: Record<string, string>;
}

const LIMIT = 1_040_000;
const JSON_TYPE = { 'content-type': 'application/json' };
const FORM_TYPE = { 'content-type': 'application/x-www-form-urlencoded' };

const json = (text: string): Body => ({ content: Buffer.from(text), headers: JSON_TYPE });
const gzip = ({ content, headers }: Body): Body => ({
  content: gzipSync(content),
  headers: { ...headers, 'content-encoding': 'gzip' },
});
const list = (item: string, size = LIMIT): string =>
  `[${`${item},`.repeat(Math.floor(size / (item.length + 1)) - 1)}${item}]`;
const nested = (depth: number, [open, close]: readonly [string, string], inside: string): string =>
  open.repeat(depth) + inside + close.repeat(depth);
const manyFields = (value: string): string =>
  `{${Array.from({ length: Math.floor(LIMIT / (12 + value.length)) }, (_, index) => `"k${index}":${value}`).join(',')}}`;

/** Bodies of 1 MB that are expensive whatever a route expects. Built once. */
const ANY: Record<string, Body> = {
  'a list of zeros': json(`{"x":${list('0')}}`),
  'a list of empty lists': json(`{"x":${list('[]')}}`),
  'a list of empty objects': json(list('{}')),
  'a long list, 95 lists deep': json(`{"x":${nested(95, ['[', ']'], list('0', LIMIT - 1000).slice(1, -1))}}`),
  'lists nested as deep as the body is long': json(nested(LIMIT / 2, ['[', ']'], '')),
  'objects nested 97 deep, again and again': json(list(nested(97, ['{"a":', '}'], '0'))),
  'many fields': json(manyFields('0')),
  'a long text': json(`{"x":"${'a'.repeat(LIMIT)}"}`),
  'a text of escapes': json(`{"x":"${'\\u0001'.repeat(LIMIT / 6)}"}`),
  'not JSON': json('['.repeat(3) + 'x'.repeat(LIMIT)),
  'a list of zeros, 95 lists deep, compressed': gzip(
    json(`{"x":${nested(95, ['[', ']'], list('0', LIMIT - 1000).slice(1, -1))}}`),
  ),
  'many fields, compressed': gzip(json(manyFields('""'))),
  'a form of many fields': { content: Buffer.from('a=1&'.repeat(LIMIT / 4)), headers: FORM_TYPE },
};

/** What the texts of a route's body are filled with. */
const TEXTS: Record<string, string> = {
  'short numbers': '01234',
  'long numbers': '+49 (30) 901820-0000 ext. 12345',
  'email addresses': 'someone@example.com',
  templates: '{% for a in (1..300) %}{{ a | append: a }}{% endfor %}',
  'opening brackets': `${'<'.repeat(200)}@`,
  // Ordering them takes time proportional to the square of their number.
  'combining marks': `a${'\u0301\u0316'.repeat(500)}`,
  'changes of direction': '\u202e\u2066a\u0627\u2069\u202c',
  'letters that are many letters': '\ufdfa',
  times: 'T00:',
  'words in quotes': 'On a b c d e wrote:\n> ',
};

/** As much of a text as fits, in bytes. JSON may write it longer. */
const FILLED = LIMIT * 0.4;
const filled = (text: string, bytes: number): string =>
  text.repeat(Math.floor(bytes / Buffer.byteLength(text)));

/** Callbacks of known schemas, by carrier: the schema of the adapter, and what must be right for the rest to be read. */
const CALLBACKS: Record<string, { schema: z.ZodType; fixed: (text: string) => Record<string, unknown> }> = {
  smtp: {
    schema: InboundEmail,
    fixed: (text) => ({
      MessageID: crypto.randomUUID(),
      From: 'nobody@example.com',
      FromFull: { Email: 'nobody@example.com', Name: text.repeat(100) },
      Date: null,
      StrippedTextReply: null,
      Headers: ['References', 'Authentication-Results', 'X-Long'].map((Name) => ({
        Name,
        Value: text.repeat(100),
      })),
      Attachments: [],
    }),
  },
  bluebubbles: {
    schema: z.object({ type: z.literal('new-message'), data: BlueBubblesMessage }),
    fixed: () => ({}),
  },
  linq: {
    schema: LinqWebhook,
    fixed: (text) => ({
      event_type: 'message.received',
      data: {
        id: crypto.randomUUID(),
        chat: {},
        direction: 'inbound',
        sender_handle: { handle: '+14155550199' },
        parts: Array.from({ length: 100 }, () => ({ type: 'text', value: filled(text, FILLED / 100) })),
      },
    }),
  },
  sendblue: {
    schema: Reported,
    fixed: () => ({ is_outbound: false, message_handle: crypto.randomUUID(), sendblue_number: null }),
  },
};

/** A message that a contact has just written, and no reaction, edit or group. */
const MESSAGE = {
  isFromMe: false,
  isAutoReply: false,
  itemType: 0,
  error: 0,
  dateEdited: null,
  dateRetracted: null,
  associatedMessageGuid: null,
  associatedMessageType: null,
  threadOriginatorGuid: null,
  tempGuid: null,
  balloonBundleId: null,
};

/** What a contact writes, and who is in their group, by the carriers that are written here. */
const WRITTEN: Record<string, (text: string) => Body> = {
  twilio: (text) => ({
    content: Buffer.from(
      new URLSearchParams({
        MessageSid: `SM${crypto.randomUUID()}`,
        From: '+14155550199',
        To: text.slice(0, 1000),
        // A form writes each byte as three.
        Body: filled(text, FILLED / 3),
        NumMedia: '50',
      }).toString(),
    ),
    headers: FORM_TYPE,
  }),
  telnyx: (text) => {
    const others = Array.from({ length: 100 }, () => ({ phone_number: filled(text, FILLED / 400) }));
    const payload = {
      id: crypto.randomUUID(),
      from: { phone_number: '+14155550199' },
      to: others,
      cc: others,
      text: filled(text, FILLED / 2),
    };
    return json(
      JSON.stringify({
        data: { event_type: 'message.received', occurred_at: new Date().toISOString(), payload },
      }),
    );
  },
};

/** The worst callbacks of carriers, by carrier and shape. */
export function worstCallbacks(): Record<string, Record<string, Body>> {
  const written = Object.entries(WRITTEN).map(([carrier, of]) => [
    carrier,
    Object.fromEntries(Object.entries(TEXTS).map(([name, text]) => [`with many ${name}`, of(text)])),
  ]);
  return { ...Object.fromEntries(written), ...worstFields() };
}

function worstFields(): Record<string, Record<string, Body>> {
  return Object.fromEntries(
    Object.entries(CALLBACKS).map(([carrier, { schema, fixed }]) => {
      const input = z.toJSONSchema(schema, {
        io: 'input',
        unrepresentable: 'any',
        metadata: z.registry(),
      }) as Schema;
      const shapes = Object.entries(TEXTS).map(([name, text]) => {
        const fields = fill(input, { text, isLong: true, longest: LIMIT }, FILLED) as Record<string, unknown>;
        const data = fields['data'] as object | undefined;
        // A list that a schema cuts before it reads it is not in its JSON schema.
        const body = data
          ? {
              ...fields,
              data: {
                ...data,
                guid: crypto.randomUUID(),
                handle: { address: '+14155550199' },
                ...MESSAGE,
                chats: [],
                attachments: [],
              },
              ...fixed(text),
            }
          : { ...fields, ...fixed(text) };
        return [`its own fields, with many ${name}`, json(JSON.stringify(body))] as const;
      });
      return [carrier, Object.fromEntries(shapes)];
    }),
  );
}

/** What a person writes as an answer to a message, by the provider of the chat. */
const CHATS: Record<z.infer<typeof ChatProviderName>, (text: string, bot: number) => object> = {
  telegram: (text, bot) => ({
    message: {
      message_id: 2,
      chat: { id: 1, type: 'private' },
      from: { id: 1 },
      text,
      reply_to_message: { message_id: 1, from: { id: bot } },
    },
  }),
  slack: (text) => ({
    type: 'event_callback',
    event: {
      type: 'message',
      channel: 'D1',
      channel_type: 'im',
      user: 'U1',
      ts: '2',
      thread_ts: '1',
      parent_user_id: 'UBOT',
      text,
    },
    authorizations: [{ user_id: 'UBOT' }],
  }),
};

/** The worst callbacks of chats, by provider and shape. @param bot ours at Telegram. */
export const worstChatCallbacks = (bot: number): Record<string, Record<string, Body>> =>
  Object.fromEntries(
    Object.entries(CHATS).map(([chat, of]) => [
      chat,
      Object.fromEntries(
        Object.entries({ ...TEXTS, 'codes that are none': '/start a ' }).map(([name, text]) => [
          `many ${name}`,
          json(JSON.stringify(of(filled(text, FILLED), bot))),
        ]),
      ),
    ]),
  );

/** The pages of messages that carriers answer with, by carrier: one message, and what is around them. */
const PAGES: Record<string, { message: (text: string) => object; page: (messages: object[]) => object }> = {
  bluebubbles: {
    message: (text) => ({
      ...MESSAGE,
      guid: crypto.randomUUID(),
      isFromMe: true,
      dateCreated: Date.now(),
      handle: { address: '+14155550199' },
      chats: [{ guid: `iMessage;-;${text}` }],
      text,
      subject: text,
    }),
    page: (data) => ({ status: 200, message: 'Success', data, metadata: { total: data.length } }),
  },
  twilio: {
    message: (text) => ({
      sid: `SM${crypto.randomUUID().replaceAll('-', '')}`,
      direction: 'outbound-api',
      to: '+14155550199',
      from: text,
      body: text,
      status: 'sent',
      error_code: null,
      date_created: new Date().toUTCString(),
    }),
    page: (messages) => ({ messages, next_page_uri: null }),
  },
  linq: {
    message: (text) => ({
      id: crypto.randomUUID(),
      is_group: false,
      is_from_me: true,
      created_at: new Date().toISOString(),
      phone_number: text,
      parts: [{ type: 'text', value: text }],
    }),
    page: (messages) => ({ messages, chats: messages, phone_numbers: messages, next_cursor: null }),
  },
  sendblue: {
    message: (text) => ({
      message_handle: crypto.randomUUID(),
      is_outbound: true,
      status: text,
      content: text,
      error_message: text,
      sendblue_number: text,
    }),
    page: (data) => ({ status: 'OK', data, pagination: { hasMore: false } }),
  },
  telnyx: {
    message: (text) => ({
      uuid: crypto.randomUUID(),
      id: crypto.randomUUID(),
      phone_number: text,
      messaging_profile_id: text,
      delivery_status_webhook_url: `https://linepace.example/?attempt=${text}`,
    }),
    page: (data) => ({ data, meta: { total_pages: 1 } }),
  },
};

/** Most messages of a page. */
const PAGE_OF = 1000;

/** The worst responses of carriers' servers, by carrier and shape: as large as they are read. */
export function worstAnswers(): Record<string, Record<string, Body>> {
  return Object.fromEntries(
    Object.entries(PAGES).map(([carrier, { message, page }]) => {
      const pages = Object.entries(TEXTS).flatMap(([name, text]) =>
        [1, PAGE_OF].map((count) => {
          const long = text.repeat(Math.ceil((LIMIT * 0.4) / count / Buffer.byteLength(text)));
          const messages = Array.from({ length: count }, () => message(long));
          return [
            `${count === 1 ? 'one message' : 'a page'} of ${name}`,
            json(JSON.stringify(page(messages))),
          ] as const;
        }),
      );
      return [carrier, { ...ANY, ...Object.fromEntries(pages) }];
    }),
  );
}

/** The responses of other services that are read, by service: a page of what its fields hold. */
const SERVICES: Record<string, (text: string) => object> = {
  model: (text) => ({
    choices: [{ message: { content: text, refusal: null }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 1, completion_tokens: 1 },
  }),
  'identity provider': (text) => ({
    keys: [{ kty: 'RSA', kid: text, n: text, e: 'AQAB' }],
    id_token: text,
    email: text,
  }),
  payments: (text) => ({
    object: 'list',
    has_more: false,
    url: '/v1/invoices',
    data: [{ id: text, metadata: { a: text } }],
  }),
};

/** The largest response that is read of most services, and that of the payment provider. */
const FITTING = 250_000;
const PAYMENTS = 4_000_000;
const short = (shape: string): Body => json(shape);
const SMALL: Record<string, Body> = {
  'a list of zeros': short(`{"x":${list('0', FITTING)}}`),
  'a list of empty lists': short(`{"keys":${list('[]', FITTING)}}`),
  'keys that are none': short(`{"keys":${list('{}', FITTING)}}`),
  'lists nested as deep as the body is long': short(nested(FITTING / 2, ['[', ']'], '')),
  'choices that are none': short(`{"choices":${list('{}', FITTING)}}`),
  'zeros of 4 MB': short(`{"data":${list('0', PAYMENTS)}}`),
  'empty lists of 4 MB': short(`{"data":${list('[]', PAYMENTS)}}`),
  'fields of 4 MB': short(`{"data":[${manyFields('0')},${manyFields('0')},${manyFields('0')}]}`),
  'a text of 4 MB': short(`{"data":"${'a'.repeat(PAYMENTS)}"}`),
  'an error of escapes': short(`{"error":{"code":"${'\\u0001'.repeat(FITTING / 8)}"}}`),
};

/** The worst responses of services that the operator configures, by shape: as large as they are read, and larger. */
export function worstResponses(): Record<string, Body> {
  const own = Object.entries(SERVICES).flatMap(([service, of]) =>
    Object.entries(TEXTS).map(
      ([name, text]) =>
        [
          `of a ${service}, with many ${name}`,
          json(JSON.stringify(of(text.repeat(Math.floor(FITTING / 4 / Buffer.byteLength(text)))))),
        ] as const,
    ),
  );
  return { ...ANY, ...SMALL, ...Object.fromEntries(own) };
}

/** Forms of many small parts, and of one part with long headers. */
const FORMS: Record<string, Body> = {
  'a form of many parts': multipart(
    '--b\r\ncontent-disposition: form-data; name="a"\r\n\r\n\r\n'.repeat(LIMIT / 60),
  ),
  'a form of many files': multipart(
    '--b\r\ncontent-disposition: form-data; name="file"; filename="a.png"\r\n\r\n\r\n'.repeat(LIMIT / 80),
  ),
  'a form of a long header': multipart(
    `--b\r\ncontent-disposition: form-data; name="file"; filename="${'a'.repeat(LIMIT)}.png"\r\n\r\n\r\n`,
  ),
};

function multipart(parts: string): Body {
  return {
    content: Buffer.from(`${parts}--b--\r\n`),
    headers: { 'content-type': 'multipart/form-data; boundary=b' },
  };
}

/** Half header, half a row. */
const WIDE: Body = {
  content: Buffer.from(`email,${columns()}\na@example.com,${columns()}\n`),
  headers: { 'content-type': 'text/csv' },
};

function columns(): string {
  return Array.from({ length: 60_000 }, (_, index) => `c${index}`).join(',');
}

/** The number of routes that share those shapes. */
const SHARES = 6;

type Reading = Pick<Route, 'id' | 'caller'> & {
  body?: unknown;
  consumes?: unknown;
  maxValues?: unknown;
  csvField?: unknown;
};

/**
 * The most expensive bodies of 1 MB for a route: of any shape, and of the shape that it declares.
 * @param index the number of the route. Routes that read bodies in the common way share the shapes that are refused
 *   before a schema matters.
 */
export function worstBodies(route: Reading, index: number): Record<string, Body> {
  const { body, caller } = route;
  if (route.consumes !== undefined)
    return {
      ...FORMS,
      'CSV of short lines': csv('a,b\n'),
      'CSV of one long line': csv('"a""'),
      'CSV of wide rows': WIDE,
      'CSV of combining marks': csv(`a@example.com,a${'\u0301\u0316'.repeat(200)}\n`),
    };
  if (!(body instanceof z.ZodType)) return ANY;
  const isCommon = caller !== 'anyone' && route.maxValues === undefined && route.csvField === undefined;
  const shared = Object.entries(ANY).filter((_, shape) => !isCommon || shape % SHARES === index % SHARES);
  const schema = z.toJSONSchema(body, {
    io: 'input',
    unrepresentable: 'any',
    metadata: z.registry(),
  }) as Schema;
  const filled = Object.entries(TEXTS).flatMap(([name, text]) =>
    [false, true].map((isLong) => [
      `its own fields, with ${isLong ? 'many' : 'single'} ${name}`,
      json(JSON.stringify(fill(schema, { text, isLong }, LIMIT))),
    ]),
  );
  return Object.fromEntries([...shared, ...filled]);
}

const csv = (line: string): Body => ({
  content: Buffer.from(`email,phone\n${line.repeat(LIMIT / line.length)}`),
  headers: { 'content-type': 'text/csv' },
});

interface Schema {
  /** Several: the first is taken. */
  type?: string | string[];
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
  maxItems?: number;
  maxLength?: number;
  enum?: unknown[];
  const?: unknown;
  pattern?: string;
  anyOf?: Schema[];
  oneOf?: Schema[];
}

/** What a value is filled with: one text each, or as much of it as fits. */
interface Filling {
  text: string;
  isLong: boolean;
  /** Of texts for which the schema has no limit, in characters. */
  longest?: number;
}

/** A value of a schema, with as many elements and fields as fit into `size` characters. */
function fill(schema: Schema, filling: Filling, size: number): unknown {
  const [choice] = schema.anyOf ?? schema.oneOf ?? [];
  if (choice) return fill(choice, filling, size);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  const [type = 'string'] = [schema.type ?? []].flat();
  switch (type) {
    case 'object':
      return schema.properties
        ? fillObject(schema.properties, filling, size)
        : fillRecord(schema.additionalProperties, filling, size);
    case 'array': {
      const item = fill(schema.items ?? {}, filling, Math.min(size, ITEM));
      const fits = Math.floor(size / (JSON.stringify(item).length + 1));
      return Array.from({ length: Math.max(1, Math.min(schema.maxItems ?? Infinity, fits)) }, () => item);
    }
    case 'integer':
    case 'number':
      return 1;
    case 'boolean':
      return true;
    default:
      return schema.pattern?.includes('{24}') ? '0'.repeat(24) : fillText(schema, filling, size);
  }
}

/** The length of a list's elements, in characters. */
const ITEM = 20_000;

function fillText(
  { maxLength: declared }: Schema,
  { text, isLong, longest = 10_000 }: Filling,
  size: number,
): string {
  const maxLength = declared ?? longest;
  if (!isLong) return text.slice(0, maxLength);
  return text.repeat(Math.max(1, Math.floor(Math.min(maxLength, size) / text.length)));
}

function fillRecord(values: Schema | boolean | undefined, filling: Filling, size: number): object {
  const value = fill(typeof values === 'object' ? values : {}, filling, 100);
  const count = Math.min(100, Math.floor(size / (JSON.stringify(value).length + 10)));
  return Object.fromEntries(Array.from({ length: Math.max(1, count) }, (_, index) => [`f${index}`, value]));
}

function fillObject(properties: Record<string, Schema>, filling: Filling, size: number): object {
  const result: Record<string, unknown> = {};
  let left = size;
  // Lists last: they take what the others have left.
  const fields = Object.entries(properties).toSorted(
    ([, a], [, b]) => Number(a.type === 'array') - Number(b.type === 'array'),
  );
  for (const [index, [name, field]] of fields.entries()) {
    result[name] = fill(field, filling, Math.max(0, left / (fields.length - index) - name.length - 4));
    left -= JSON.stringify(result[name]).length + name.length + 4;
  }
  return result;
}

/** A longer row is refused. */
const ROW = 190_000;

/** Files of contacts whose cells, rows and lines are expensive to read. */
export function worstLeadFiles(): Record<string, string | Buffer> {
  const cells = [
    'a',
    ' ',
    ' or ',
    '@ ',
    'a@x.co ',
    'a@x.co;',
    '4155550123;',
    '015112345678/',
    '/ ',
    '<',
    '1\n',
  ];
  const ofCells = cells.map((unit): [string, string] => {
    const cell = `"${unit.repeat(ROW / 2 / unit.length)}"`;
    return [`cells of ${JSON.stringify(unit)}`, `email,phone\n${`${cell},${cell}\n`.repeat(5)}`];
  });
  return {
    ...Object.fromEntries(ofCells),
    'combining marks': `email,notes\n${`,a${'\u0301\u0316'.repeat(ROW / 4)}\n`.repeat(5)}`,
    'wide rows': `email,phone\n${`${'1,'.repeat(ROW / 2)}\n`.repeat(5)}`,
    'a wide header': `${'email,'.repeat(32_000 / 3)}\na@x.co\n`,
    'many columns of addresses': `${'email,'.repeat(900)}\n${`${'a@x.co,'.repeat(900)}\n`.repeat(200)}`,
    'quotes in cells': `email,phone\n${'a"b'.repeat(60_000)}\n`,
    'short rows': `email\n${'a@x.co\n'.repeat(100_000)}`,
    'short lines in different encodings': Buffer.from(`email\n${'\xe4\na\n'.repeat(50_000)}`, 'latin1'),
    'letters beyond ASCII': Buffer.from(`email\n${'a\x9fb\xe9,\n'.repeat(50_000)}`, 'latin1'),
    'blank lines': `email\n${'\n'.repeat(200_000)}a@x.co`,
    'a title that does not end': `t\n"${'x'.repeat(60_000)}\n`,
  };
}
