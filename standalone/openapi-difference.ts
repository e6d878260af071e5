/** The parts of an OpenAPI document that are compared. */
export interface Document {
  paths: Record<string, Record<string, Operation>>;
  components?: { schemas?: Record<string, Schema> };
}

interface Operation {
  parameters?: { name: string; in: string; required?: boolean; schema?: Schema }[];
  requestBody?: { content?: Content };
  responses?: Record<string, { description?: string; content?: Content }>;
}
type Content = Record<string, { schema?: Schema }>;

export interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  additionalProperties?: Schema | boolean;
}

/** A change of an endpoint. */
export interface Change {
  /** `POST /api/messages` */
  endpoint: string;
  text: string;
  /** It may break a caller: `docs/api-versions.md`. */
  breaks: boolean;
}

interface Field {
  type: string;
  values: readonly string[];
  required: boolean;
}
type Fields = ReadonlyMap<string, Field>;
/** Which side a field is on: callers write requests and read responses. */
type Side = 'request' | 'response';

export const NEW = 'new';

/** The differences between two documents that callers notice, in the order of the newer one. */
export function apiChanges(before: Document, after: Document): Change[] {
  const [old, now] = [operationsOf(before), operationsOf(after)];
  const changes: Change[] = [];
  for (const [endpoint, operation] of now) {
    const earlier = old.get(endpoint);
    if (!earlier) changes.push({ endpoint, text: NEW, breaks: false });
    else
      for (const change of operationChanges({ before, after }, earlier, operation))
        changes.push({ endpoint, ...change });
  }
  for (const endpoint of old.keys())
    if (!now.has(endpoint)) changes.push({ endpoint, text: 'removed', breaks: true });
  return changes;
}

/** The parts of a document that are compared, without texts, but for those of responses, which name codes of errors. */
export function compared({ paths, components }: Document): Document {
  const operations = Object.entries(paths).map(([path, own]): [string, Record<string, Operation>] => [
    path,
    Object.fromEntries(
      Object.entries(own).map(([method, { parameters, requestBody, responses }]) => [
        method,
        {
          ...(parameters && { parameters }),
          ...(requestBody && { requestBody }),
          ...(responses && { responses }),
        },
      ]),
    ),
  ]);
  const document = {
    paths: Object.fromEntries(operations),
    components: { schemas: components?.schemas ?? {} },
  };
  const isText = (key: string, value: unknown): boolean =>
    key === 'description' && typeof value === 'string' && !value.startsWith('`');
  return JSON.parse(
    JSON.stringify(document, (key, value: unknown) => (isText(key, value) ? undefined : value)),
  ) as Document;
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

const operationsOf = ({ paths }: Document): Map<string, Operation> =>
  new Map(
    Object.entries(paths).flatMap(([path, operations]) =>
      METHODS.flatMap((method): [string, Operation][] => {
        const operation = operations[method];
        return operation ? [[`${method.toUpperCase()} ${path}`, operation]] : [];
      }),
    ),
  );

function operationChanges(
  documents: { before: Document; after: Document },
  earlier: Operation,
  operation: Operation,
): Omit<Change, 'endpoint'>[] {
  const fields = (document: Document, { parameters = [], requestBody }: Operation): Fields =>
    new Map([
      ...parameters.map(({ name, in: where, required = false, schema = {} }): [string, Field] => [
        `${where} ${name}`,
        { ...fieldOf(document, schema), required },
      ]),
      ...fieldsIn({ document, side: 'request' }, schemaOf(requestBody?.content)),
    ]);
  const changes = fieldChanges(
    fields(documents.before, earlier),
    fields(documents.after, operation),
    'request',
  );
  const [old, now] = [earlier.responses ?? {}, operation.responses ?? {}];
  for (const [status, response] of Object.entries(now)) {
    const known = old[status];
    const codes = codesOf(response).filter((code) => !known || !codesOf(known).includes(code));
    for (const code of codes) changes.push({ text: `may answer ${status} \`${code}\``, breaks: false });
    if (codes.length === 0 && !known) changes.push({ text: `may answer ${status}`, breaks: false });
    if (!known || Number(status) >= 400) continue;
    const read = (document: Document, { content }: typeof response): Fields =>
      new Map(fieldsIn({ document, side: 'response' }, schemaOf(content)));
    changes.push(...fieldChanges(read(documents.before, known), read(documents.after, response), 'response'));
  }
  for (const status of Object.keys(old))
    if (!(status in now)) changes.push({ text: `no longer answers ${status}`, breaks: Number(status) < 400 });
  return changes;
}

/** The codes of errors, which the description of a response lists. */
const codesOf = ({ description = '' }: { description?: string }): string[] =>
  [...description.matchAll(/^`([A-Z_]+)`:/gm)].map(([, code = '']) => code);

/** Whether a field of one type accepts all values of another. */
function isAlso(type: string, other: string): boolean {
  const types = new Set(type.split(' or '));
  return type === '' || (other !== '' && other.split(' or ').every((one) => types.has(one)));
}

function fieldChanges(old: Fields, now: Fields, side: Side): Omit<Change, 'endpoint'>[] {
  const changes: Omit<Change, 'endpoint'>[] = [];
  for (const [name, field] of now) {
    const known = old.get(name);
    const what = `the ${side}'s \`${name}\``;
    if (!known) {
      // A new field of a new object comes with it.
      if (!hasNewParent(name, old, now))
        changes.push({
          text: `${what} is new${side === 'request' && field.required ? ' and required' : ''}`,
          breaks: side === 'request' && field.required,
        });
      continue;
    }
    if (known.type !== field.type)
      changes.push({
        text: `${what} is ${field.type || 'anything'} instead of ${known.type || 'anything'}`,
        breaks: side === 'response' || !isAlso(field.type, known.type),
      });
    if (side === 'request' && field.required && !known.required)
      changes.push({ text: `${what} is required`, breaks: true });
    if (side === 'response' && known.required && !field.required)
      changes.push({ text: `${what} may be missing`, breaks: true });
    const added = field.values.filter((value) => !known.values.includes(value));
    const gone = known.values.filter((value) => !field.values.includes(value));
    if (added.length > 0 && known.values.length > 0)
      changes.push({ text: `${what} may be ${added.join(', ')}`, breaks: false });
    if (gone.length > 0 && field.values.length > 0)
      changes.push({ text: `${what} is never ${gone.join(', ')} any more`, breaks: side === 'request' });
  }
  for (const name of old.keys())
    if (!now.has(name) && !hasNewParent(name, now, old))
      changes.push({ text: `the ${side}'s \`${name}\` is gone`, breaks: true });
  return changes;
}

/** Whether the closest field around a field, `steps` of `steps[].message`, is among `here` and not among `there` either. */
function hasNewParent(name: string, there: Fields, here: Fields): boolean {
  const parent = name.replace(/(\.[^.[]+|\[\])$/, '');
  if (parent === name) return false;
  return here.has(parent) ? !there.has(parent) : hasNewParent(parent, there, here);
}

const schemaOf = (content: Content = {}): Schema | undefined => content['application/json']?.schema;

/** All fields of a schema, by their path: `steps[].message`. */
function fieldsIn(
  of: { document: Document; side: Side },
  schema: Schema | undefined,
  path = '',
  above: readonly string[] = [],
): [string, Field][] {
  if (!schema) return [];
  const { document, side } = of;
  const name = schema.$ref;
  if (name !== undefined && above.includes(name)) return [];
  const inner = name === undefined ? above : [...above, name];
  const resolved = resolve(document, schema);
  const fields = new Map<string, Field>();
  for (const [key, property] of Object.entries(resolved.properties ?? {})) {
    const at = path === '' ? key : `${path}.${key}`;
    fields.set(at, { ...fieldOf(document, property), required: resolved.required?.includes(key) ?? false });
    for (const [below, field] of fieldsIn(of, property, at, inner)) fields.set(below, field);
  }
  for (const [below, field] of fieldsIn(of, resolved.items, `${path}[]`, inner)) fields.set(below, field);
  const read = (part: Schema): Fields => new Map(fieldsIn(of, part, path, inner));
  const choices = [...(resolved.anyOf ?? []), ...(resolved.oneOf ?? [])]
    .map(read)
    .filter(({ size }) => size > 0);
  // A caller picks one of several objects, and needs no field that only others require.
  const isOptional = (name: string): boolean =>
    side === 'request' && !choices.every((choice) => choice.get(name)?.required);
  for (const [below, field] of choices.flatMap((choice) => [...choice]))
    if (!fields.has(below)) fields.set(below, isOptional(below) ? { ...field, required: false } : field);
  for (const [below, field] of (resolved.allOf ?? []).flatMap((part) => [...read(part)]))
    if (!fields.has(below)) fields.set(below, field);
  return [...fields];
}

function fieldOf(document: Document, schema: Schema): Omit<Field, 'required'> {
  const parts = alternatives(document, schema);
  const types = parts.flatMap(({ type, const: value, enum: values }) =>
    type === undefined
      ? [value, ...(values ?? [])].filter((one) => one !== undefined).map((one) => typeof one)
      : type,
  );
  const values = parts.flatMap(({ enum: given = [], const: value }) => [
    ...given,
    ...(value === undefined ? [] : [value]),
  ]);
  return {
    type: [...new Set(types)].toSorted().join(' or '),
    values: [...new Set(values.map((value) => JSON.stringify(value)))],
  };
}

function alternatives(document: Document, schema: Schema, depth = 0): Schema[] {
  const resolved = resolve(document, schema);
  const parts = [...(resolved.anyOf ?? []), ...(resolved.oneOf ?? [])];
  if (parts.length === 0 || depth > 5) return [resolved];
  return parts.flatMap((part) => alternatives(document, part, depth + 1));
}

function resolve(document: Document, schema: Schema): Schema {
  if (schema.$ref === undefined) return schema;
  return document.components?.schemas?.[schema.$ref.split('/').at(-1) ?? ''] ?? {};
}
