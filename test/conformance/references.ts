import { openApiDocument } from '#api/http/openapi.ts';
import type { TenantRoute } from '#api/http/route.ts';
import { routes } from '#api/routes.ts';
import { tenantRoutes } from './requests.ts';

/** A place of a request that names something: one path parameter or all of them, a header, or a field. */
export interface Reference {
  route: TenantRoute;
  in: 'path' | 'query' | 'header' | 'body';
  /** Path parameters, or one name; that of a field within others is `steps[].attachmentUrls`. */
  names: string[];
}

/** Names of fields that refer to something by its id or its link. */
const REFERRING = /(^id|Ids?|-id|^attachmentUrls)$/;
/** Fields of a query that refer to a contact. In a body, an address may be anybody's: it is stored or written to. */
const CONTACTS = new Set(['address', 'number', 'to', 'search']);

/** Fields named like references that name nothing here, and why. */
const LABELS: Record<string, string> = {
  batchId: "the caller's own label",
  correlationId: "the caller's own label",
  traceId: "the caller's own label",
  accountId: 'of a provider',
  crmAContactId: "the caller's own label",
  crmAPortalId: "the caller's own label",
  crmBContactId: "the caller's own label",
  crmBLocationId: "the caller's own label",
  crmCCompanyId: "the caller's own label",
  crmCPersonId: "the caller's own label",
  crmCLeadId: "the caller's own label",
  'x-correlation-id': "the caller's own label",
  'response.id': 'of an authenticator, which anybody may have',
  'response.rawId': 'of an authenticator, which anybody may have',
  'steps[].id': "the caller's own name of a step",
  stepId: "the caller's own name of a step",
  'last-event-id': 'a position in the stream of the caller',
  'x-workspace-id': 'has a test of its own',
};

/** Every reference of every endpoint, from the declarations of the routes. */
export function allReferences(): Reference[] {
  const { paths, components } = openApiDocument(routes) as unknown as Document;
  return tenantRoutes.flatMap((route): Reference[] => {
    const params = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
    const operation = paths[route.path]?.[route.method.toLowerCase()];
    const inRequest = (where: 'query' | 'header'): string[] =>
      (operation?.parameters ?? []).filter((parameter) => parameter.in === where).map(({ name }) => name);
    const body = operation?.requestBody?.content?.['application/json']?.schema;
    const named: [Reference['in'], string[]][] = [
      ['query', inRequest('query')],
      ['header', inRequest('header').map((name) => name.toLowerCase())],
      ['body', [...new Set(fieldsOf(components.schemas, body))]],
    ];
    return [
      ...params.map((name): Reference => ({ route, in: 'path', names: [name] })),
      ...(params.length > 1 ? [{ route, in: 'path' as const, names: params }] : []),
      ...named.flatMap(([where, names]) =>
        names
          .filter((name) => isReference(name) || (where === 'query' && CONTACTS.has(name)))
          .map((name): Reference => ({ route, in: where, names: [name] })),
      ),
    ];
  });
}

/** The name of a field without the fields around it. */
export const lastName = (path: string): string => path.split('.').at(-1) ?? path;

const isReference = (path: string): boolean =>
  REFERRING.test(lastName(path)) && !Object.hasOwn(LABELS, lastName(path)) && !Object.hasOwn(LABELS, path);

interface Schema {
  $ref?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
}
type Schemas = Record<string, Schema>;
interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Schemas };
}
interface Operation {
  parameters?: { in: string; name: string }[];
  requestBody?: { content?: Record<string, { schema?: Schema }> };
}

/** The names of all fields of a body, each with those around it. What contains itself is named once. */
function* fieldsOf(
  named: Schemas,
  schema: Schema | undefined,
  around = '',
  above: readonly string[] = [],
): Generator<string> {
  if (!schema) return;
  const name = schema.$ref?.split('/').at(-1) ?? '';
  if (above.includes(name)) return;
  const inner = name === '' ? above : [...above, name];
  yield* fieldsOf(named, named[name], around, inner);
  for (const choice of [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])])
    yield* fieldsOf(named, choice, around, inner);
  yield* fieldsOf(named, schema.items, `${around}[]`, inner);
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    const path = around === '' ? name : `${around}.${name}`;
    yield path;
    yield* fieldsOf(named, field, path, inner);
  }
}
