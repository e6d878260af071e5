import { z } from 'zod';
import { createDocument, type ZodOpenApiOperationObject, type ZodOpenApiPathsObject } from 'zod-openapi';
import { addCodeSamples } from '../docs/code-samples.ts';
import { DraftStatus } from '#domain/drafts/ai-draft.ts';
import { Id } from '#domain/base/ids.ts';
import { KeyScope } from '#domain/accounts/key-scope.ts';
import { ERRORS, type ErrorCode } from './errors.ts';
import { MAX_KEY_LENGTH } from './idempotency.ts';
import { openApiWebhooks } from './openapi-webhooks.ts';
import type { PublicRoute, Responses, Route, TenantRoute } from './route.ts';
import { scopesOf } from './scopes.ts';

const ErrorBody = z
  .object({
    error: z.string().meta({ description: 'A human-readable message, which may change.' }),
    code: z.string().optional().meta({ description: 'A stable code for programs.' }),
    issues: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
    requestId: z.string().meta({ description: 'The same as in `X-Request-Id` and in the logs.' }),
  })
  .meta({ id: 'Error' });

const WhereAgencyKeysWork = {
  agencyEndpoints: z.array(z.string()).optional(),
  requestedPath: z.string().optional(),
};

/** Additional fields of some errors. */
const ERROR_FIELDS: Partial<Record<ErrorCode, z.ZodRawShape>> = {
  AGENCY_KEY_WRONG_ENDPOINT: WhereAgencyKeysWork,
  SESSION_REQUIRED: WhereAgencyKeysWork,
  DRAFT_ALREADY_RESOLVED: {
    status: DraftStatus.optional(),
    approvalChannel: z.string().nullish().meta({ description: 'Where the draft was resolved.' }),
  },
  PAYMENT_PENDING: {
    lineId: Id.optional().meta({ description: 'The line request that awaits payment.' }),
    paymentUrl: z.string().nullish(),
  },
  INSUFFICIENT_SCOPE: { required: KeyScope.optional() },
  READ_ONLY: {
    reason: z.literal('past_due').optional(),
    workspaceId: z
      .string()
      .optional()
      .meta({ description: "Of an agency's request: a client that is read-only." }),
  },
  WORKSPACE_SUSPENDED: {
    workspaceId: z
      .string()
      .optional()
      .meta({ description: "Of an agency's request: the client that is suspended." }),
  },
  LIMIT_REACHED: { limit: z.string().optional(), max: z.int().optional() },
};

/**
 * Generates the OpenAPI 3.1 document from the declarations of routes and events.
 * @param options.exact with the constants of booleans, for our own generators. The published document has none, because
 * openapi-generator's Python clients compare `true` with a text, and so refuse every response that has `success: true`.
 */
export function openApiDocument(routes: readonly Route[], { exact = false } = {}) {
  const paths: ZodOpenApiPathsObject = {};
  for (const route of routes) {
    if (route.caller === 'anyone' && route.hidden) continue;
    const method = route.method.toLowerCase() as 'get' | 'post' | 'put' | 'patch' | 'delete';
    paths[route.path] = { ...paths[route.path], [method]: operation(route) };
  }
  const document = createDocument(
    {
      openapi: '3.1.0',
      info: {
        title: 'Linepace API',
        version: '1',
        description:
          'Send iMessage, SMS and email through lines that are paced so that carriers do not flag them. Authenticate with `Authorization: Bearer <key>`.',
      },
      // The reference page may call its own origin only.
      servers: [{ url: '/' }],
      components: {
        securitySchemes: {
          workspaceKey: {
            type: 'http',
            scheme: 'bearer',
            description: 'A workspace key (`svc_…`) or a session token.',
          },
          workspaceKeyBasic: {
            type: 'http',
            scheme: 'basic',
            description: 'A workspace key as the user name, with an empty password.',
          },
          agencyKey: { type: 'http', scheme: 'bearer', description: 'An agency key (`svcagency_…`).' },
          session: {
            type: 'http',
            scheme: 'bearer',
            bearerFormat: 'JWT',
            description: 'A signed-in session token.',
          },
        },
      },
      paths,
      webhooks: openApiWebhooks(),
    },
    {
      override: ({ jsonSchema }) => {
        // The format says it. openapi-generator's Python clients would apply the pattern to a date that they have parsed.
        if (jsonSchema.format === 'date-time' || jsonSchema.format === 'date') delete jsonSchema.pattern;
        if (!exact && jsonSchema.type === 'boolean') delete jsonSchema.const;
      },
    },
  );
  addCodeSamples(document);
  const { paths: described = {}, components } = document;
  for (const item of Object.values(described))
    for (const { responses } of Object.values(item as Record<string, { responses?: object }>))
      openToNewFields(responses, components?.schemas ?? {});
  openToNewFields(components?.pathItems, components?.schemas ?? {});
  return document;
}

/**
 * Removes `additionalProperties: false` from what the API writes, because a later version may add fields. Generators that
 * take it literally would refuse them, and openapi-generator cannot read a closed object with a field that may be null.
 */
function openToNewFields(part: unknown, schemas: object, opened = new Set<unknown>()): void {
  if (typeof part !== 'object' || part === null || opened.has(part)) return;
  opened.add(part);
  if ('additionalProperties' in part && part.additionalProperties === false) delete part.additionalProperties;
  if ('$ref' in part && typeof part.$ref === 'string') {
    const name = part.$ref.slice(part.$ref.lastIndexOf('/') + 1);
    openToNewFields(Object.entries(schemas).find(([known]) => known === name)?.[1], schemas, opened);
  }
  for (const value of Object.values(part)) openToNewFields(value, schemas, opened);
}

function operation(route: Route): ZodOpenApiOperationObject {
  const described = { operationId: route.id, tags: [route.tag], summary: route.summary };
  if (route.caller === 'anyone') {
    return {
      ...described,
      ...(route.description !== undefined && { description: route.description }),
      security: [],
      requestParams: { path: pathParams(route.path), ...(route.query && { query: route.query }) },
      ...requestBody(route),
      responses: { ...failures(publicErrorCodes(route)), ...publicResponses(route), ...UNROUTED },
    };
  }
  return {
    ...described,
    ...description(route),
    ...requiredScopes(route),
    security: security(route),
    requestParams: {
      ...(route.params && { path: route.params }),
      ...(route.query && { query: route.query }),
      ...requestHeaders(route),
    },
    ...requestBody(route),
    responses: { ...successes(route), ...failures(errorCodes(route), route.responses), ...UNROUTED },
  };
}

function description(route: TenantRoute) {
  const { description: text, audit } = route;
  const scopes = scopesOf(route).map((scope) => `\`${scope}\``);
  const needed = scopes.length > 0 ? `A key needs the scope ${scopes.join(' or ')}.` : undefined;
  const recorded = audit && `Recorded in the audit log as \`${audit.action}\`.`;
  const parts = [text, needed, recorded].filter((part) => part !== undefined);
  return parts.length > 0 && { description: parts.join(' ') };
}

/** For programs, since the type of these security schemes is not one with scopes. */
function requiredScopes(route: TenantRoute) {
  const scopes = scopesOf(route);
  return scopes.length > 0 && { 'x-required-scopes': scopes };
}

function requestHeaders({ idempotent, caller, headers: own }: TenantRoute) {
  const headers = {
    ...own?.shape,
    ...(idempotent && { 'Idempotency-Key': z.string().max(MAX_KEY_LENGTH).optional() }),
    ...(caller === 'agency' && {
      'X-Agency-Id': z.string().optional().meta({
        description:
          'Selects the agency of a signed-in user who belongs to several. Default: the one they own, otherwise the one they joined first.',
      }),
    }),
    ...(caller === 'workspace' && {
      'X-Workspace-Id': z.string().optional().meta({
        description:
          'Selects a workspace of the agency that the signed-in user belongs to, where they act as an admin, or the twin of a workspace for tests. Default: the workspace of the credential.',
      }),
    }),
  };
  return { header: z.object(headers) };
}

/** Responses of Node's HTTP server before routing. */
const UNROUTED = { 431: { description: 'The request line and the headers exceed 16 KB. Without a body.' } };

/** OpenAPI requires a description of every parameter in a path. */
const pathParams = (path: string) =>
  z.object(Object.fromEntries([...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => [name, z.string()])));

function security({ caller, credential }: TenantRoute): Record<string, string[]>[] {
  if (credential === 'session') return [{ session: [] }];
  return caller === 'agency' ? [{ agencyKey: [] }] : [{ workspaceKey: [] }, { workspaceKeyBasic: [] }];
}

function requestBody({ body, consumes }: Pick<TenantRoute, 'body' | 'consumes'>) {
  if (consumes)
    return {
      requestBody: {
        required: true,
        // openapi-generator's clients can send the first type only, and a form is the one that they all can send.
        content: Object.fromEntries(
          consumes
            .toSorted((a, b) => Number(b in STREAMS) - Number(a in STREAMS))
            .map((type) => [type, { schema: STREAMS[type] ?? TEXT }]),
        ),
      },
    };
  return body
    ? {
        requestBody: {
          required: !body.safeParse({}).success,
          content: { 'application/json': { schema: body } },
        },
      }
    : {};
}

const TEXT = { type: 'string' } as const;
const BINARY = { type: 'string', format: 'binary' } as const;
const STREAMS: Record<string, object> = {
  'multipart/form-data': {
    type: 'object',
    properties: { file: { type: 'string', format: 'binary' } },
    required: ['file'],
  },
};

const successes = (route: TenantRoute) =>
  Object.fromEntries(
    Object.entries(route.responses as Record<string, z.ZodType>)
      .filter(([status]) => Number(status) < 400)
      .map(([status, schema]) => [
        status,
        {
          description: 'Success',
          content:
            route.produces === undefined
              ? { 'application/json': { schema } }
              : {
                  [route.produces]: { schema: route.streams ?? TEXT },
                  ...(route.alsoProduces !== undefined && { [route.alsoProduces]: { schema: BINARY } }),
                },
        },
      ]),
  );

/** All error codes of a route: declared and implied. */
export function errorCodes(route: TenantRoute): ErrorCode[] {
  const codes = new Set<ErrorCode>([
    'UNAUTHORIZED',
    // Failed authentication attempts are limited on every route.
    'RATE_LIMITED',
    'INTERNAL_ERROR',
    'UNAVAILABLE',
    ...(route.errors ?? []),
  ]);
  if (route.caller === 'agency') codes.add('NOT_AN_AGENCY').add('AGENCY_NOT_FOUND');
  else codes.add('AGENCY_KEY_WRONG_ENDPOINT').add('WORKSPACE_NOT_FOUND');
  if (route.credential === 'session') codes.add('SESSION_REQUIRED');
  else if (route.caller === 'agency') codes.add('AGENCY_KEY_REQUIRED');
  if (scopesOf(route).length > 0) codes.add('INSUFFICIENT_SCOPE').add('IP_NOT_ALLOWED');
  if (route.role === 'admin') codes.add('ADMIN_REQUIRED');
  if (route.role === 'owner') codes.add('AGENCY_OWNER_REQUIRED');
  if (route.params) codes.add('NOT_FOUND');
  if (route.query || route.body || route.headers || route.idempotent) codes.add('VALIDATION_ERROR');
  if (route.body) for (const code of BODY_ERRORS) codes.add(code);
  if (route.consumes)
    for (const code of ['BODY_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'] as const) codes.add(code);
  if (route.idempotent) codes.add('IDEMPOTENCY_KEY_REUSED').add('CONTACT_ERASED');
  if (route.caller === 'workspace' && route.method !== 'GET' && !route.openWhenReadOnly)
    codes.add('READ_ONLY');
  if (codes.has('READ_ONLY')) codes.add('WORKSPACE_SUSPENDED');
  if (route.mode === 'test') codes.add('TEST_MODE_ONLY');
  if (route.mode === 'live') codes.add('LIVE_MODE_ONLY');
  if (route.needsSubscription) codes.add('LIMIT_REACHED');
  if (route.needsSubscription) codes.add('SUBSCRIPTION_REQUIRED');
  if (route.adds) codes.add('LIMIT_REACHED');
  return [...codes];
}

/** Invalid links and signatures are rate-limited on every public route. */
const publicErrorCodes = ({ body, errors }: PublicRoute): ErrorCode[] => [
  ...new Set<ErrorCode>([
    'RATE_LIMITED',
    'INTERNAL_ERROR',
    'UNAVAILABLE',
    ...(body ? (['VALIDATION_ERROR', ...BODY_ERRORS] as const) : []),
    ...(errors ?? []),
  ]),
];

const BODY_ERRORS = ['INVALID_JSON', 'BODY_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'] as const;

const publicResponses = ({ contentTypes, schemas }: PublicRoute) =>
  Object.fromEntries(
    Object.entries(contentTypes).map(([status, type]) => [
      status,
      type === null
        ? { description: 'Success, without a body' }
        : {
            description: Number(status) < 400 ? 'Success' : 'Failure',
            content: { [type]: { schema: schemas?.[Number(status)] ?? {} } },
          },
    ]),
  );

function errorSchema(codes: readonly ErrorCode[]): z.ZodType {
  const fields = Object.assign({}, ...codes.map((code) => ERROR_FIELDS[code] ?? {})) as z.ZodRawShape;
  return Object.keys(fields).length === 0 ? ErrorBody : z.object({ ...ErrorBody.shape, ...fields });
}

/** @param own the schemas of errors in another form, by status: a protocol's, or of a result that is a failure. */
function failures(errors: readonly ErrorCode[], own: Responses = {}) {
  const byStatus = Map.groupBy(errors, (code) => ERRORS[code][0]);
  const schemaOf = (status: number, codes: readonly ErrorCode[]): z.ZodType => {
    const other = own[status];
    return other ? z.union([errorSchema(codes), other]) : errorSchema(codes);
  };
  const withoutCode = Object.entries(own).filter(
    ([status]) => Number(status) >= 400 && errors.every((code) => ERRORS[code][0] !== Number(status)),
  );
  return Object.fromEntries([
    ...[...byStatus].map(([status, codes]) => [
      String(status),
      {
        description: codes.map((code) => `\`${code}\`: ${ERRORS[code][1]}`).join('\n\n'),
        content: { 'application/json': { schema: schemaOf(status, codes) } },
      },
    ]),
    ...withoutCode.map(([status, schema]) => [
      status,
      { description: 'Failure', content: { 'application/json': { schema } } },
    ]),
  ]);
}
