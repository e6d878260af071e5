import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { matchPath, type SentRequest } from './openapi-contract.ts';

/** What the server's own validators check about a field. Like the server's, the rules other than `required` ignore empty values. */
const Rule = z.strictObject({
  type: z.enum(['string', 'numeric', 'boolean', 'array']),
  required: z.boolean().default(false),
  /** It may be empty, but not be absent. */
  present: z.boolean().default(false),
  in: z.array(z.string()).optional(),
  min: z.number().optional(),
  max: z.number().optional(),
  startsWith: z.string().optional(),
  /** The values that an array may have. */
  each: z.array(z.string()).optional(),
});
type Rule = z.infer<typeof Rule>;
const Rules = z.record(z.string(), Rule);
/** For each method of sending, of which fields one must not be empty. */
const Requires = z.record(z.enum(['apple-script', 'private-api']), z.array(z.array(z.string())));

const Contract = z.object({
  /** The parameters that may have the password. */
  credential: z.array(z.string()),
  routes: z.array(
    z.strictObject({
      method: z.string(),
      path: z.string(),
      query: Rules.default({}),
      body: Rules.optional(),
      form: Rules.optional(),
      /** The name of an uploaded file, which must not be empty. */
      file: z.string().optional(),
      requires: Requires.optional(),
      impliesPrivateApi: z.array(z.string()).default([]),
    }),
  ),
});
type BlueBubblesContract = z.infer<typeof Contract>;
type Route = BlueBubblesContract['routes'][number];

export const readBlueBubblesContract = (): BlueBubblesContract =>
  Contract.parse(
    JSON.parse(readFileSync(new URL('../fixtures/contracts/bluebubbles.json', import.meta.url), 'utf8')),
  );

const PREFIX = '/api/v1';

/** The route of a request; undefined: there is none. */
export function routeOf({ routes }: BlueBubblesContract, { method, path }: SentRequest): Route | undefined {
  const { pathname } = new URL(path, 'http://contract');
  return routes.find((route) => route.method === method && matchPath(PREFIX + route.path, pathname) !== null);
}

/** What is wrong with requests by the server's rules, in the order in which they were sent. */
export async function blueBubblesViolations(
  contract: BlueBubblesContract,
  requests: readonly SentRequest[],
): Promise<string[]> {
  const problems: string[] = [];
  for (const request of requests) {
    const route = routeOf(contract, request);
    const name = `${request.method} ${route?.path ?? new URL(request.path, 'http://contract').pathname}`;
    const found = route ? await wrongIn(contract, route, request) : ['there is no such route'];
    problems.push(...found.map((problem) => `${name}: ${problem}`));
  }
  return problems;
}

async function wrongIn(
  { credential }: BlueBubblesContract,
  route: Route,
  request: SentRequest,
): Promise<string[]> {
  const query = Object.fromEntries(new URL(request.path, 'http://contract').searchParams);
  const hasCredential = credential.some((name) => query[name] !== undefined && query[name] !== '');
  for (const name of credential) delete query[name];
  const { fields, files } = await contentOf(route, request);
  return [
    ...(hasCredential ? [] : ['the password is missing']),
    ...wrongFields(route.query, query),
    ...wrongFields(route.body ?? route.form ?? {}, fields),
    ...(route.file === undefined || files[route.file] ? [] : [`${route.file} is missing or empty`]),
    ...missingFor(route, fields),
  ];
}

type Fields = Record<string, unknown>;

/** The fields of a request, and the sizes of its files. */
async function contentOf(
  { body, form }: Route,
  request: SentRequest,
): Promise<{ fields: Fields; files: Record<string, number> }> {
  const fields: Fields = {};
  const files: Record<string, number> = {};
  if (body && request.contentType === 'application/json')
    Object.assign(fields, z.record(z.string(), z.unknown()).parse(JSON.parse(request.body)));
  if (form) {
    const headers = { 'content-type': request.contentType ?? '' };
    const parsed = await new Response(request.body, { headers }).formData();
    for (const [name, value] of parsed) {
      if (typeof value === 'string') fields[name] = value;
      else files[name] = value.size;
    }
  }
  return { fields, files };
}

function wrongFields(rules: Record<string, Rule>, fields: Fields): string[] {
  const unknown = Object.keys(fields).filter((name) => !(name in rules));
  return [
    // The server ignores them, so that they can only be mistakes.
    ...unknown.map((name) => `${name} is unknown`),
    ...Object.entries(rules).flatMap(([name, rule]) => {
      const value = fields[name];
      if ((rule.required && isEmpty(value)) || (rule.present && value === undefined))
        return [`${name} is missing`];
      return isEmpty(value) || isValid(rule, value) ? [] : [`${name} must not be ${JSON.stringify(value)}`];
    }),
  ];
}

const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || (typeof value === 'string' && value.trim() === '');

function isValid({ type, in: allowed, min, max, startsWith = '', each }: Rule, value: unknown): boolean {
  switch (type) {
    case 'string':
      return typeof value === 'string' && (allowed?.includes(value) ?? true) && value.startsWith(startsWith);
    case 'numeric':
      return (
        ['number', 'string'].includes(typeof value) &&
        Number.isFinite(Number(value)) &&
        Number(value) >= (min ?? -Infinity) &&
        Number(value) <= (max ?? Infinity)
      );
    case 'boolean':
      return [true, false, 0, 1, '0', '1', 'true', 'false'].some((known) => known === value);
    case 'array':
      return (
        Array.isArray(value) &&
        (each === undefined || value.every((one) => each.some((known) => known === one)))
      );
  }
}

function missingFor({ requires, impliesPrivateApi }: Route, fields: Fields): string[] {
  if (!requires) return [];
  const given = fields['method'] === 'private-api' ? 'private-api' : 'apple-script';
  const method = impliesPrivateApi.some((name) => !isEmpty(fields[name])) ? 'private-api' : given;
  return requires[method]
    .filter((names) => names.every((name) => isEmpty(fields[name])))
    .map((names) => `${names.join(' or ')} is missing for ${method}`);
}
