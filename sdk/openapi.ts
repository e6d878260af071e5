import { createHash } from 'node:crypto';
import { sdkMethod } from '#api/docs/sdk-names.ts';
import { openApiDocument } from '#api/http/openapi.ts';
import { routes } from '#api/routes.ts';

/** Endpoints for carriers, browsers, monitoring and assistants, which no customer's program calls. */
const INTERNAL_TAGS = new Set(['System', 'Callbacks', 'Console', 'MCP']);
/** The SDKs read the event stream themselves, because a stream must resume. */
const HANDWRITTEN = new Set(['streamEvents']);
/** Headers that are not arguments: set once for a client or by its retries, or the same as a field of the body. */
const OMITTED_HEADERS = new Set(['X-Workspace-Id', 'X-Agency-Id', 'Idempotency-Key', 'X-Correlation-Id']);

interface Operation {
  tags: [string];
  operationId: string;
  parameters?: { in: string; name: string }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, unknown>;
  'x-codeSamples'?: unknown;
}

interface Schema {
  $ref?: string;
  type?: string;
  format?: string;
  anyOf?: Schema[];
  properties?: Record<string, Schema>;
}

export interface SdkDocument {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema>; pathItems?: Record<string, object> };
  webhooks: Record<string, object>;
}

export interface SdkSource {
  /** The OpenAPI document from which the SDKs are generated. */
  document: SdkDocument;
  /** The operations that accept an `Idempotency-Key`, such as `POST /api/messages`. */
  idempotent: string[];
  /** Identifies both, so that a check notices SDKs that are older than the routes. */
  digest: string;
}

/**
 * What the SDKs are generated from: the API's OpenAPI document without what only servers and browsers call. Bodies are
 * inlined, so that their fields become arguments, and all errors are one response, because the SDKs throw one class of
 * errors with a `code`.
 */
export function sdkSource(): SdkSource {
  const document = JSON.parse(JSON.stringify(openApiDocument(routes, { exact: true }))) as SdkDocument;
  const idempotent: string[] = [];
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      if (INTERNAL_TAGS.has(operation.tags[0]) || HANDWRITTEN.has(operation.operationId)) {
        delete operations[method];
        continue;
      }
      const { parameters = [], requestBody } = operation;
      if (parameters.some(({ name }) => name === 'Idempotency-Key'))
        idempotent.push(`${method.toUpperCase()} ${path}`);
      const bodies = Object.values(requestBody?.content ?? {});
      for (const content of bodies) content.schema = resolved(content.schema, document);
      // The SDKs send a file as it is, where they may.
      if (requestBody)
        requestBody.content = Object.fromEntries(Object.entries(requestBody.content).toReversed());
      const file = requestBody?.content['text/csv'];
      if (file?.schema.type === 'string') file.schema = TEXT_OR_BYTES;
      // A field that may also be in the query is an argument of the body.
      const fields = new Set(bodies.flatMap(({ schema }) => Object.keys(schema.properties ?? {})));
      operation.parameters = parameters.filter(
        ({ name, in: place }) => !OMITTED_HEADERS.has(name) && !(place === 'query' && fields.has(name)),
      );
      delete operation['x-codeSamples'];
      operation.responses = withOneError(operation.responses);
    }
    if (Object.keys(operations).length === 0) delete document.paths[path];
  }
  document.webhooks = document.components.pathItems ?? {};
  delete document.components.pathItems;
  const digest = createHash('sha256').update(JSON.stringify({ document, idempotent })).digest('hex');
  return { document, idempotent, digest };
}

/** A file is not always UTF-8, and a text would be sent as UTF-8. */
const TEXT_OR_BYTES: Schema = { anyOf: [{ type: 'string' }, { type: 'string', format: 'binary' }] };

function resolved(schema: Schema, { components }: SdkDocument): Schema {
  const name = schema.$ref?.split('/').at(-1);
  return name === undefined ? schema : (components.schemas[name] ?? schema);
}

const ERROR = {
  description: 'The request failed.',
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
};

function withOneError(responses: Record<string, unknown>): Record<string, unknown> {
  const successes = Object.entries(responses).filter(([status]) => Number(status) < 400);
  return { ...Object.fromEntries(successes), default: ERROR };
}

/** The operations by group and method. */
export function methodsOf({ paths }: SdkDocument): Record<string, Record<string, string>> {
  const groups: Record<string, Record<string, string>> = {};
  for (const operation of Object.values(paths).flatMap((operations) => Object.values(operations))) {
    const { group, method } = sdkMethod({ tag: operation.tags[0], operationId: operation.operationId });
    groups[group] = { ...groups[group], [method]: operation.operationId };
  }
  return groups;
}
