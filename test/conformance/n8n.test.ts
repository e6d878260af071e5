import { pathToFileURL } from 'node:url';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { openApiDocument } from '#api/http/openapi.ts';
import { routes } from '#api/routes.ts';
import { EVENT_NAMES } from '#domain/events/event.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { startTestEndpoint } from '#test/support/endpoint.ts';
import { createWorkspace } from '#test/support/factories.ts';

/** A field of a node as n8n reads it: https://docs.n8n.io/integrations/creating-nodes/build/reference/. */
interface Field {
  name: string;
  displayOptions?: { show: { resource?: string[]; operation?: string[] } };
  options?: (Field & { value?: string })[];
  routing?: {
    request?: { method: string; url: string; body?: object };
    send?: { type: 'body' | 'query'; property: string };
  };
}

interface Schema {
  $ref?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
}

interface Operation {
  parameters?: { in: string; name: string }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
}

const NODES = path.resolve('integrations/n8n/nodes');
/** The package is built with tools of its own, so that its files are no part of this project. */
const load = async <T>(file: string): Promise<T> =>
  (await import(pathToFileURL(path.join(NODES, file)).href)) as T;

const document = JSON.parse(JSON.stringify(openApiDocument(routes, { exact: true }))) as {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
};
/** A path whose parameters have no names. */
const shapeOf = (url: string): string => url.replace(/^=/, '').replaceAll(/\{\{[^{}]*\}\}|\{\w+\}/g, '{}');
const operationOf = ({ method, url }: { method: string; url: string }): Operation | undefined => {
  const found = Object.keys(document.paths).find((known) => shapeOf(known) === shapeOf(url));
  return found === undefined ? undefined : document.paths[found]?.[method.toLowerCase()];
};
const resolve = (schema: Schema | undefined): Schema | undefined =>
  schema?.$ref === undefined ? schema : document.components.schemas[schema.$ref.split('/').at(-1) ?? ''];
/** Whether a body has a field such as `leads[0].email`. */
function hasField(body: Schema | undefined, field: string): boolean {
  const steps = field.split(/[.[\]]+/).filter((step) => step !== '');
  const end = steps.reduce<Schema | undefined>((schema, step) => {
    const at = resolve(schema);
    return /^\d+$/.test(step) ? at?.items : at?.properties?.[step];
  }, body);
  return end !== undefined;
}

/** The fields that a request may contain, those of collections and both of an expression with a choice included. */
const sentBy = (field: Field): { type: string; property: string }[] => {
  const own = field.routing?.send;
  const properties = own?.property.startsWith('=')
    ? [...own.property.matchAll(/"(\w+)"/g)].map(([, name = '']) => name)
    : own
      ? [own.property]
      : [];
  return [
    ...properties.map((property) => ({ type: own?.type ?? 'body', property })),
    ...(field.options ?? []).flatMap((option) => (option.value === undefined ? sentBy(option) : [])),
  ];
};

describe.each(['campaign', 'conversation', 'draft', 'lead', 'message', 'optOut'])(
  'the resource %s',
  (resource) => {
    let fields: Field[];
    beforeAll(async () => {
      const module = await load<Record<string, Field[]>>(`Linepace/resources/${resource}.ts`);
      fields = module[`${resource}Description`] ?? [];
    });

    it('sends only requests that the API has', () => {
      const operations = fields.find(({ name }) => name === 'operation')?.options ?? [];
      expect(operations.length).toBeGreaterThan(1);
      for (const { value = '', routing } of operations) {
        const request = routing?.request;
        if (!request) throw new Error(`${value} has no request`);
        const operation = operationOf(request);
        expect(operation, `${request.method} ${request.url}`).toBeDefined();
        const body = operation?.requestBody?.content['application/json']?.schema;
        const isShown = ({ displayOptions }: Field): boolean =>
          displayOptions?.show.operation?.includes(value) ?? true;
        const sent = [
          ...fields.filter(isShown).flatMap(sentBy),
          ...Object.keys(request.body ?? {}).map((property) => ({ type: 'body', property })),
        ];
        for (const { type, property } of sent) {
          const isKnown =
            type === 'query'
              ? operation?.parameters?.some((one) => one.in === 'query' && one.name === property)
              : hasField(body, property);
          expect(isKnown, `${request.method} ${request.url}: ${property}`).toBe(true);
        }
      }
    });
  },
);

describe('the trigger', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await sharedApp();
  });

  it('offers every event', async () => {
    const { EVENTS } = await load<{ EVENTS: { value: string }[] }>('LinepaceTrigger/events.ts');
    expect(EVENTS.map(({ value }) => value)).toEqual([...EVENT_NAMES].toSorted());
  });

  it('takes only deliveries that the server has signed with its secret', async () => {
    const { isGenuine } = await load<{
      isGenuine: (secret: string, body: Buffer, headers: object, nowSeconds: number) => boolean;
    }>('LinepaceTrigger/signature.ts');
    const { api } = await createWorkspace(app);
    const endpoint = await startTestEndpoint();
    const registered = { url: endpoint.url, events: ['lead.created'], retries: 'standard', tags: [] };
    const { body } = await api('POST', '/api/webhooks', registered);
    const { secret } = body.webhook;
    await api('POST', '/api/leads', { leads: [{ phone: '+14155550123' }] });
    const [delivery] = await eventually(async () => endpoint.received.length > 0 && endpoint.received);
    const { headers, body: text } = delivery!;
    const now = Number(headers['webhook-timestamp']);
    const accepts = (
      change: { secret?: string; text?: string; headers?: object; now?: number } = {},
    ): boolean =>
      isGenuine(
        change.secret ?? secret,
        Buffer.from(change.text ?? text),
        { ...headers, ...change.headers },
        change.now ?? now,
      );
    expect(accepts()).toBe(true);
    expect(
      accepts({ headers: { 'webhook-signature': `v1,AAAA ${String(headers['webhook-signature'])}` } }),
    ).toBe(true);
    expect([
      accepts({ text: `${text} ` }),
      accepts({ now: now + 301 }),
      accepts({ secret: 'whsec_AAAA' }),
      accepts({ headers: { 'webhook-id': undefined } }),
      accepts({ headers: { 'webhook-timestamp': 'soon' } }),
      accepts({ headers: { 'webhook-signature': '' } }),
    ]).toEqual([false, false, false, false, false, false]);
  });
});
