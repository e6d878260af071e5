import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import { ERRORS, type ErrorCode } from '#api/http/errors.ts';
import { errorCodes, openApiDocument } from '#api/http/openapi.ts';
import type { PublicRoute, TenantRoute } from '#api/http/route.ts';
import { INTAKE } from '#api/http/rate-limits.ts';
import { routes } from '#api/routes.ts';
import { newId } from '#domain/base/ids.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { type ApiResponse, apiClient } from '#test/support/client.ts';
import { createAgency, createWorkspace } from '#test/support/factories.ts';
import { signIn } from '#test/support/sessions.ts';
import { openTestMode } from '#test/support/test-mode.ts';
import { call, pathOf, tenantRoutes } from './requests.ts';

let app: OwnApp;
let workspace: { id: string; key: string };
let keyOf: (route: TenantRoute) => string;

beforeAll(async () => {
  app = await startTestApp({ worker: false, environment: { FAILED_ATTEMPTS_PER_MINUTE: '100000' } });
  const [made, agency] = await Promise.all([createWorkspace(app), createAgency(app)]);
  workspace = made;
  const admin = await signIn(app, { userId: made.ownerId, organizationId: made.id, role: 'org:admin' });
  const owner = await signIn(app, { userId: agency.ownerId });
  const { key: testKey } = await openTestMode(app, made);
  keyOf = ({ caller, credential, mode }) => {
    if (mode === 'test') return `Bearer ${testKey}`;
    if (credential === 'session') return `Bearer ${caller === 'agency' ? owner : admin}`;
    return `Bearer ${caller === 'agency' ? agency.key : made.key}`;
  };
});
afterAll(() => app.stop());

const withBody = tenantRoutes.filter(({ body }) => body !== undefined);
const nameOf = (route: TenantRoute): string => `${route.method} ${route.path}`;

/** Sends a request to each route. @returns each route with a wrong response, and what is wrong with it. */
async function problemsOf(
  tested: readonly TenantRoute[],
  ask: (route: TenantRoute) => Promise<ApiResponse>,
  problem: (answer: ApiResponse, route: TenantRoute) => string | false | null | undefined,
): Promise<string[]> {
  const found = await Promise.all(
    tested.map(async (route) => {
      const answer = await ask(route);
      const why = problem(answer, route) || undocumented(answer, route);
      return why ? [`${nameOf(route)}: ${why}`] : [];
    }),
  );
  return found.flat();
}

/** Every refusal is `{error, code, requestId}` with the status of its code, and its code is in the document. */
function undocumented({ status, body }: ApiResponse, route: TenantRoute): string | null {
  if (status < 400) return route.responses[status as never] ? null : `${status} is not in its document`;
  const code = body.code as ErrorCode;
  if (typeof body.error !== 'string') return `no error text: ${JSON.stringify(body)}`;
  if (ERRORS[code]?.[0] !== status) return `${code} with ${status}`;
  return errorCodes(route).includes(code) ? null : `${code} is not in its document`;
}

const unlessRefused = (status: number, code: ErrorCode) => (answer: ApiResponse) =>
  (answer.status !== status || answer.body.code !== code) &&
  `${answer.status} ${answer.body.code} instead of ${status} ${code}`;

const raw = (route: TenantRoute, body: string, headers: Record<string, string> = {}): Promise<ApiResponse> =>
  apiClient(app.url, '')(route.method, pathOf(route), body, { authorization: keyOf(route), ...headers });

/** The headers of every response. Without `https`, browsers ignore `Strict-Transport-Security`. */
const SECURITY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
};

describe('every endpoint with a body', () => {
  it('refuses malformed JSON', async () => {
    expect(withBody.length).toBeGreaterThan(20);
    expect(
      await problemsOf(withBody, (route) => raw(route, '{"a":'), unlessRefused(400, 'INVALID_JSON')),
    ).toEqual([]);
  });

  it('refuses another content type', async () => {
    const ask = (route: TenantRoute) =>
      raw(route, 'a=1', { 'content-type': 'application/x-www-form-urlencoded' });
    expect(await problemsOf(withBody, ask, unlessRefused(415, 'UNSUPPORTED_MEDIA_TYPE'))).toEqual([]);
  });

  it('refuses a list, a text, a number and null instead of an object, and reports the place', async () => {
    for (const body of ['[]', '"text"', 'null', '7']) {
      const problem = (answer: ApiResponse) =>
        unlessRefused(400, 'VALIDATION_ERROR')(answer) || (!Array.isArray(answer.body.issues) && 'no issues');
      expect(await problemsOf(withBody, (route) => raw(route, body), problem), body).toEqual([]);
    }
  });

  it('refuses a body that does not match its Content-Encoding', async () => {
    const [route] = withBody;
    if (!route) throw new Error('no route');
    const as = (headers: Record<string, string>) =>
      raw(route, '{}', { 'content-type': 'application/json', ...headers });
    for (const encoding of ['gzip', 'deflate', 'br']) {
      expect(await as({ 'content-encoding': encoding }), encoding).toMatchObject({
        status: 400,
        body: { code: 'INVALID_JSON' },
      });
    }
    expect(await as({ 'content-encoding': 'rot13' })).toMatchObject({
      status: 415,
      body: { code: 'UNSUPPORTED_MEDIA_TYPE' },
    });
  });

  it('does not count a client that disconnects as a failure of its own', async () => {
    const [route] = withBody;
    if (!route) throw new Error('no route');
    const requests = async (): Promise<string[]> =>
      (await (await fetch(`${app.url}/metrics`)).text())
        .split('\n')
        .filter((line) => line.includes(`route="${route.id}"`) && line.includes('_requests'));
    const before = await requests();
    const { hostname, port } = new URL(app.url);
    const head = `${route.method} ${pathOf(route)} HTTP/1.1\r\nHost: x\r\nAuthorization: ${keyOf(route)}`;
    const caller = connect(Number(port), hostname);
    caller.on('error', () => {});
    caller.end(`${head}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"a"`);
    const after = await eventually(async () => {
      const now = await requests();
      return now.join() !== before.join() && now;
    });
    expect(after.filter((line) => !before.includes(line)).join()).not.toContain('status="5');
  });

  it('refuses text that cannot be stored and deep nesting, and reports the place', async () => {
    const deep = (open: string, close: string): string => open.repeat(50_000) + '1' + close.repeat(50_000);
    for (const [body, path, of = withBody] of [
      ['{"message": ["a\\u0000b"]}', 'message.0'],
      ['{"message": "half a pair: \\ud83d"}', 'message'],
      ['{"a\\u0000": 1}', ''],
      [`{"message": ${deep('[', ']')}}`, 'message', withBody.slice(0, 2)],
      [`{"message": ${deep('{"a":', '}')}}`, 'message', withBody.slice(0, 2)],
      [deep('[', ']'), '0', withBody.slice(0, 2)],
    ] as const) {
      const problem = (answer: ApiResponse) =>
        unlessRefused(400, 'VALIDATION_ERROR')(answer) ||
        (answer.body.issues[0].path !== path && JSON.stringify(answer.body));
      expect(await problemsOf(of, (route) => raw(route, body), problem), body.slice(0, 40)).toEqual([]);
    }
  });

  it('refuses more than 1 MB, with or without a Content-Length', async () => {
    const large = JSON.stringify({ message: 'x'.repeat(1024 * 1024) });
    for (let start = 0; start < withBody.length; start += 8) {
      expect(
        await problemsOf(
          withBody.slice(start, start + 8),
          (route) => raw(route, large),
          unlessRefused(413, 'BODY_TOO_LARGE'),
        ),
      ).toEqual([]);
    }
    const [route] = withBody;
    if (!route) throw new Error('no route');
    expect(await sendChunked(route, large)).toBe(413);
  });
});

describe('every endpoint', () => {
  it('gives documented responses only, to an empty request and to a nonsensical one', async () => {
    const nothing = (route: TenantRoute) => call(app.url, route, keyOf(route));
    expect(
      await problemsOf(tenantRoutes, nothing, ({ status }) => status >= 500 && status !== 503 && `${status}`),
    ).toEqual([]);
    const nonsense = Object.fromEntries(
      ['limit', 'cursor', 'date', 'days', 'status', 'since', 'interval'].map((name) => [
        name,
        "'; drop table messages; --",
      ]),
    );
    const query = new URLSearchParams(nonsense).toString();
    const body = Object.fromEntries(
      ['message', 'name', 'email', 'url', 'events', 'leads', 'workspaceId', 'action', 'preferences'].map(
        (name) => [name, { $ne: null }],
      ),
    );
    const ask = (route: TenantRoute) =>
      call(app.url, route, keyOf(route), { path: `${pathOf(route)}?${query}`, body });
    expect(
      await problemsOf(tenantRoutes, ask, ({ status }) => status >= 500 && status !== 503 && `${status}`),
    ).toEqual([]);
  });

  it('documents its refusal of an Idempotency-Key that is too long', async () => {
    const idempotent = tenantRoutes.filter((route) => route.idempotent);
    const ask = (route: TenantRoute) =>
      call(app.url, route, keyOf(route), { headers: { 'Idempotency-Key': 'k'.repeat(256) } });
    expect(
      await problemsOf(idempotent, ask, ({ status }) => !(status >= 400 && status < 500) && `${status}`),
    ).toEqual([]);
  });

  it('refuses a NUL character in a query parameter by name', async () => {
    const inQuery = tenantRoutes.filter(({ query }) => query !== undefined);
    expect(inQuery.length).toBeGreaterThan(15);
    for (const name of ['id', 'search', 'address', 'correlationId', 'cursor']) {
      const ask = (route: TenantRoute) =>
        call(app.url, route, keyOf(route), { path: `${pathOf(route)}?${name}=a%00b` });
      const problem = (answer: ApiResponse) =>
        unlessRefused(400, 'VALIDATION_ERROR')(answer) ||
        (answer.body.issues[0].path !== name && 'not named');
      expect(await problemsOf(inQuery, ask, problem), name).toEqual([]);
    }
  });

  it('refuses a forged cursor by name or treats it as a position', async () => {
    const paged = tenantRoutes.filter(
      ({ method, query }) =>
        method === 'GET' && query !== undefined && 'cursor' in (query as z.ZodObject).shape,
    );
    expect(paged.length).toBeGreaterThan(5);
    const forged = [
      [1, 'a\0b'],
      [1, '\ud800'],
      [-8.64e15, 'a'],
      [8.64e15, 'a'],
      [1e300, 'a'],
      [253_402_300_799_999, '~'],
      [0, ''],
      [1, "' or 1=1 --"],
      [1, { toString: 1 }],
      {},
      null,
    ].map((value) => Buffer.from(JSON.stringify(value)).toString('base64url'));
    for (const cursor of [...forged, 'bm9uc2Vuc2U', '0', '__proto__', '%F0%9F%92%A5']) {
      const ask = (route: TenantRoute) =>
        call(app.url, route, keyOf(route), {
          // A conversation that does not exist is a 404 whatever the cursor.
          path: `${pathOf(route, { address: '+14155550199' })}?cursor=${cursor}`,
        });
      const problem = ({ status, body }: ApiResponse) => {
        if (status === 200 || status === 404) return null;
        return (status !== 400 || body.issues[0].path !== 'cursor') && `${status} ${JSON.stringify(body)}`;
      };
      expect(await problemsOf(paged, ask, problem), cursor).toEqual([]);
    }
  });

  it('returns 404 for a malformed id', async () => {
    const withId = tenantRoutes.filter(({ path }) => /\{(id|\w+Id)\}/.test(path));
    expect(withId.length).toBeGreaterThan(20);
    for (const id of ['1', 'ABCDEFABCDEFABCDEFABCDEF', '../../etc/passwd', "' or 1=1 --", 'é', '%00']) {
      const ask = (route: TenantRoute) =>
        call(app.url, route, keyOf(route), {
          path: route.path.replaceAll(/\{\w+\}/g, encodeURIComponent(id)),
        });
      const problem = ({ status, body }: ApiResponse, route: TenantRoute) => {
        // A malformed id of a line request is a 400; the id is checked before or after the body.
        if (
          status === 400 &&
          (route.path.startsWith('/api/line-requests/') || (route.body && body.code === 'VALIDATION_ERROR'))
        )
          return null;
        return status !== 404 && `${status} ${body.code}`;
      };
      expect(await problemsOf(withId, ask, problem), id).toEqual([]);
    }
  });

  it('echoes X-Request-Id and makes one if it is missing or invalid', async () => {
    const ask = (id: string | null) => (route: TenantRoute) =>
      call(app.url, route, keyOf(route), { headers: id === null ? {} : { 'x-request-id': id } });
    expect(
      await problemsOf(
        tenantRoutes,
        ask('trace-1:a.b_c'),
        ({ headers }) => headers.get('x-request-id') !== 'trace-1:a.b_c' && 'not echoed',
      ),
    ).toEqual([]);
    const base64 = `a/b+c=${'x'.repeat(150)}`;
    expect(
      await problemsOf(
        tenantRoutes.slice(0, 3),
        ask(base64),
        ({ headers }) => headers.get('x-request-id') !== base64 && 'not echoed',
      ),
    ).toEqual([]);
    const made = ({ headers }: ApiResponse) =>
      !/^[0-9a-f-]{36}$/.test(headers.get('x-request-id') ?? '') && 'none made';
    expect(await problemsOf(tenantRoutes, ask(null), made)).toEqual([]);
    expect(await problemsOf(tenantRoutes.slice(0, 3), ask('not fit: <script>'), made)).toEqual([]);
  });

  it('forbids caching, and what browsers need not do with it', async () => {
    const cached = ({ headers }: ApiResponse, { produces }: TenantRoute) => {
      const wanted = produces === 'text/event-stream' ? 'no-cache, no-transform' : 'no-store';
      return headers.get('cache-control') !== wanted && `Cache-Control: ${headers.get('cache-control')}`;
    };
    const sniffed = ({ headers }: ApiResponse) =>
      Object.entries(SECURITY_HEADERS)
        .filter(([name, value]) => headers.get(name) !== value)
        .map(([name]) => `${name}: ${headers.get(name)}`)
        .join();
    const ask = (route: TenantRoute) => call(app.url, route, keyOf(route));
    const problem = (answer: ApiResponse, route: TenantRoute) => cached(answer, route) || sniffed(answer);
    expect(await problemsOf(tenantRoutes, ask, problem)).toEqual([]);
    for (const path of ['/healthz', '/openapi.json', '/docs', '/metrics', '/invitations/x', '/nothing']) {
      const response = await apiClient(app.url, '')('GET', path);
      expect(sniffed(response), path).toBe('');
      expect(response.headers.get('content-security-policy') ?? '', path).not.toContain('unsafe');
    }
  });

  it('reads times in every form that other programs write (`Instant`, `Moment`)', () => {
    const isStrict = (schema: z.ZodType | undefined): boolean =>
      schema !== undefined &&
      JSON.stringify(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })).includes(
        '"format":"date-time"',
      );
    const strict = tenantRoutes.filter(({ query, body }) => isStrict(query) || isStrict(body));
    expect(strict.map(nameOf)).toEqual([]);
  });

  it('repeats the request id in the body of every error', async () => {
    const ask = (route: TenantRoute) =>
      call(app.url, route, keyOf(route), { headers: { 'x-request-id': 'trace-7' } });
    const statuses = new Set<number>();
    const unnamed = ({ status, body }: ApiResponse) => {
      statuses.add(status);
      return status >= 400 && body.requestId !== 'trace-7' && `${status} ${body.requestId}`;
    };
    expect(await problemsOf(tenantRoutes, ask, unnamed)).toEqual([]);
    expect(statuses).toContain(400);
    expect(statuses).toContain(404);
  });

  it('reports the rate limit and what remains of it', async () => {
    const problem = ({ headers }: ApiResponse, { limit }: TenantRoute) => {
      const [total, left, reset] = ['limit', 'remaining', 'reset'].map((name) =>
        headers.get(`ratelimit-${name}`),
      );
      if (limit === null || limit === INTAKE) return total !== null && 'has a limit';
      if (Number(total) !== (limit?.requests ?? 120)) return `a limit of ${total}`;
      return (
        !(
          Number(left) < Number(total) &&
          Number(left) >= 0 &&
          Number(reset) >= 0 &&
          Number(reset) <= (limit?.seconds ?? 60)
        ) && `${left} left, reset in ${reset}`
      );
    };
    expect(await problemsOf(tenantRoutes, (route) => call(app.url, route, keyOf(route)), problem)).toEqual(
      [],
    );
  });

  it('refuses every other method with 405 and lists the allowed ones', async () => {
    const paths = [...new Set(routes.filter(({ path }) => !path.includes('*')).map(({ path }) => path))];
    const found = await Promise.all(
      paths.map(async (path) => {
        // A path without parameters has only its own methods, even where a parameter of another path matches it.
        const ofPath = routes.filter((route) =>
          path.includes('{') ? matches(route.path, path) : route.path === path,
        );
        const has = new Set(ofPath.map(({ method }) => method));
        const problems = [];
        for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const) {
          if (has.has(method)) continue;
          const { status, headers, body } = await apiClient(app.url, workspace.key)(method, pathOf({ path }));
          const allow = headers.get('allow')?.split(', ').toSorted().join();
          if (status !== 405 || body.code !== 'METHOD_NOT_ALLOWED' || allow !== [...has].toSorted().join()) {
            problems.push(`${method} ${path}: ${status} ${body.code}, Allow: ${headers.get('allow')}`);
          }
        }
        return problems;
      }),
    );
    expect(found.flat()).toEqual([]);
  });
});

/** Whether a route also matches the path that another one declares: a parameter matches any segment. */
const matches = (pattern: string, path: string): boolean =>
  new RegExp(
    `^${pattern
      .replaceAll('.', '\\.')
      .replaceAll('{*path}', '.+')
      .replaceAll(/\{\w+\}/g, '[^/]+')}$`,
  ).test(path.replaceAll(/[{}]/g, ''));

test('every POST that creates takes an Idempotency-Key', () => {
  const creating = tenantRoutes.filter(
    ({ method, responses }) => method === 'POST' && 201 in (responses as object),
  );
  expect(creating.length).toBeGreaterThan(12);
  expect(creating.filter(({ idempotent }) => idempotent !== true).map(nameOf)).toEqual([]);
});

describe('a path without an endpoint', () => {
  it.each([
    '/api/nothing',
    '/',
    '/api/messages/a/b/c',
    '/API/MESSAGES',
    '/api//messages',
    '/v1/opt-outs/%2B14155550123',
  ])('such as %s is a 404 in the usual shape', async (path) => {
    const { status, body, headers } = await apiClient(app.url, workspace.key)('GET', path);
    expect([status, body.code, typeof body.error]).toEqual([404, 'NOT_FOUND', 'string']);
    expect(headers.get('x-request-id')).toBeTruthy();
    expect(body.requestId).toBe(headers.get('x-request-id'));
  });
});

describe('the OpenAPI document', () => {
  it('contains every endpoint with a unique id and all its errors', () => {
    const { paths = {} } = openApiDocument(routes);
    const ids = routes.map(({ id }) => id);
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
    const missing = tenantRoutes.flatMap((route) => {
      const operation = paths[route.path]?.[route.method.toLowerCase() as 'get'];
      if (!operation) return [nameOf(route)];
      const documented = JSON.stringify(operation.responses);
      return errorCodes(route)
        .filter((code) => !documented.includes(`\`${code}\``))
        .map((code) => `${nameOf(route)}: ${code}`);
    });
    expect(missing).toEqual([]);
  });

  it('has only schemas that generators of clients understand: named if they are recursive, and none that is a boolean', () => {
    const { components = {} } = openApiDocument(routes);
    const names = Object.keys(components.schemas ?? {});
    expect(names.length).toBeGreaterThan(50);
    expect(names.filter((name) => name.startsWith('__'))).toEqual([]);
    expect(JSON.stringify(openApiDocument(routes))).not.toMatch(
      /"(?:items|additionalItems|not|contains)":(?:true|false)|"prefixItems"/,
    );
  });

  it('lets clients read fields that a later version adds, parse dates as dates, and send files as forms', () => {
    const { paths = {}, components = {}, webhooks = {} } = openApiDocument(routes);
    const found = { dates: 0, patternsOfDates: 0, constantBooleans: 0 };
    const closed: object[] = [];
    const count = (part: unknown): void => {
      if (typeof part !== 'object' || part === null) return;
      if ('additionalProperties' in part && part.additionalProperties === false) closed.push(part);
      if ('format' in part && (part.format === 'date-time' || part.format === 'date')) {
        found.dates += 1;
        if ('pattern' in part) found.patternsOfDates += 1;
      }
      if ('const' in part && 'type' in part && part.type === 'boolean') found.constantBooleans += 1;
      for (const value of Object.values(part)) count(value);
    };
    const { EmailPreferencesPatch, ...schemas } = components.schemas ?? {};
    expect(EmailPreferencesPatch).toMatchObject({ additionalProperties: false });
    for (const part of [paths, schemas, components.pathItems]) count(part);
    // Only clients write these, and another unit than those is refused.
    for (const part of closed)
      expect(part).toMatchObject({ properties: { days: {}, hours: {}, minutes: {} } });
    expect(found).toEqual({ dates: expect.any(Number), patternsOfDates: 0, constantBooleans: 0 });
    expect(found.dates).toBeGreaterThan(100);

    const events = Object.keys(webhooks);
    expect(events.length).toBeGreaterThan(15);
    expect(Object.values(webhooks)).toEqual(
      events.map((event) => ({ $ref: `#/components/pathItems/${event}` })),
    );
    const files = Object.values(paths).flatMap((item) =>
      Object.keys(
        item.post?.requestBody && 'content' in item.post.requestBody ? item.post.requestBody.content : {},
      ).join(),
    );
    expect(files.filter((types) => types.includes('multipart'))).toEqual([
      'multipart/form-data',
      'multipart/form-data,text/csv',
      'multipart/form-data,text/csv',
    ]);
  });

  it('describes every response of the endpoints that need no credential', async () => {
    const open = routes.filter((route): route is PublicRoute => route.caller === 'anyone' && !route.hidden);
    expect(open.length).toBeGreaterThan(12);
    const { paths = {} } = openApiDocument(routes);
    const found = await Promise.all(
      open.flatMap((route) =>
        ['a', '%00', '..%2f', newId()].map(async (value) => {
          const path = route.path.replaceAll(/\{\w+\}/g, value);
          const body = route.method === 'POST' ? '{' : undefined;
          const { status, headers } = await apiClient(app.url, '')(route.method, path, body);
          const documented = paths[route.path]?.[route.method.toLowerCase() as 'get']?.responses ?? {};
          const response = documented[String(status) as '200'] as { content?: object } | undefined;
          const [type = ''] = (headers.get('content-type') ?? '').split(';');
          const known = Object.keys(response?.content ?? {}).some((name) => name === type || name === '*/*');
          return response && known ? [] : [`${route.method} ${path}: ${status} ${type}`];
        }),
      ),
    );
    expect(found.flat()).toEqual([]);
  });

  it('contains every response that an endpoint declares', () => {
    const { paths = {} } = openApiDocument(routes);
    const missing = tenantRoutes.flatMap((route) => {
      const operation = paths[route.path]?.[route.method.toLowerCase() as 'get'];
      return Object.keys(route.responses)
        .filter((status) => !operation?.responses?.[status as '200'])
        .map((status) => `${nameOf(route)}: ${status}`);
    });
    expect(missing).toEqual([]);
  });

  it('lists the refusals that precede routing', () => {
    const { paths = {} } = openApiDocument(routes);
    const operations = Object.values(paths).flatMap((path) => Object.values(path) as { responses: object }[]);
    expect(operations.filter(({ responses }) => !('431' in responses))).toEqual([]);
  });

  it('describes all path parameters', () => {
    const { paths = {} } = openApiDocument(routes);
    const undescribed = Object.entries(paths).flatMap(([path, operations]) =>
      Object.entries(operations).flatMap(([method, operation]) => {
        const { parameters = [] } = operation as { parameters?: { in: string; name: string }[] };
        const described = new Set(
          parameters.flatMap((parameter) => (parameter.in === 'path' ? parameter.name : [])),
        );
        const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
        return names.filter((name) => !described.has(name)).map((name) => `${method} ${path}: ${name}`);
      }),
    );
    expect(undescribed).toEqual([]);
  });
});

test('a workspace that is past due can read, but writes only to endpoints that stay open', async () => {
  const late = await createWorkspace(app, { subscription_status: 'past_due' });
  const admin = await signIn(app, { userId: late.ownerId, organizationId: late.id, role: 'org:admin' });
  const own = tenantRoutes.filter(({ caller }) => caller === 'workspace');
  const ask = (route: TenantRoute) =>
    call(app.url, route, `Bearer ${route.credential === 'session' ? admin : late.key}`);
  const problem = ({ status, body }: ApiResponse, route: TenantRoute) => {
    const closed = route.method !== 'GET' && !route.openWhenReadOnly;
    if (!closed) return (status === 402 || status >= 500) && status !== 503 && `${status} ${body.code}`;
    const { error, code, reason } = body;
    return (
      (status !== 402 || error !== 'READ_ONLY' || code !== 'READ_ONLY' || reason !== 'past_due') &&
      `${status} ${JSON.stringify(body)}`
    );
  };
  expect(await problemsOf(own, ask, problem)).toEqual([]);
});

test('a workspace that an operator has suspended can read, but writes only to endpoints that stay open', async () => {
  const suspended = await createWorkspace(app, { suspended_at: new Date() });
  const owner = { userId: suspended.ownerId, organizationId: suspended.id, role: 'org:admin' };
  const admin = await signIn(app, owner);
  const own = tenantRoutes.filter(({ caller }) => caller === 'workspace');
  const ask = (route: TenantRoute) =>
    call(app.url, route, `Bearer ${route.credential === 'session' ? admin : suspended.key}`);
  const problem = ({ status, body }: ApiResponse, route: TenantRoute) => {
    const closed = route.method !== 'GET' && !route.openWhenReadOnly;
    const isRefused = status === 403 && body.code === 'WORKSPACE_SUSPENDED';
    return closed !== isRefused && closed && `${status} ${JSON.stringify(body)}`;
  };
  expect(await problemsOf(own, ask, problem)).toEqual([]);
});

/** Sends a body without a Content-Length. @returns the status of the response. */
function sendChunked(route: TenantRoute, body: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: keyOf(route),
      'content-type': 'application/json',
      'transfer-encoding': 'chunked',
    };
    const request = httpRequest(app.url + pathOf(route), { method: route.method, headers }, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    request.on('error', reject);
    request.end(body);
  });
}
