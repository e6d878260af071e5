import { EXAMPLES } from './examples.ts';
import { sdkMethod, snakeCase } from './sdk-names.ts';

export interface CodeSample {
  /** For the highlighter. */
  lang: 'bash' | 'javascript' | 'python';
  label: 'curl' | 'TypeScript' | 'Python' | 'CLI';
  source: string;
}

interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  example?: unknown;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  minItems?: number;
  anyOf?: Schema[];
  oneOf?: Schema[];
}

interface Operation {
  tags?: string[];
  operationId?: string;
  parameters?: { in: string; name: string; required?: boolean; schema?: Schema }[];
  requestBody?: { content: Record<string, { schema?: Schema }> };
}

interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

/** Commands of the CLI, by operation. */
const COMMANDS: Record<string, string> = {
  sendMessage: `linepace send 'Hello {{ firstName | default: "there" }}' --to +14155550123`,
  drip: 'linepace drip people.csv',
  listMessages: 'linepace messages --status failed',
  getMessageTimeline: 'linepace timeline MESSAGE_ID',
  listLines: 'linepace lines',
  importLeads: 'linepace import contacts.csv --list LIST_ID',
  streamEvents: 'linepace listen --forward-to http://localhost:8080/webhooks',
  listAutoReplies: 'linepace drafts',
  resolveAutoReply: 'linepace drafts approve REPLY_ID',
  listCampaigns: 'linepace campaigns',
  getCampaign: 'linepace campaigns show CAMPAIGN_ID',
  startCampaign: 'linepace campaigns start CAMPAIGN_ID',
  pauseCampaign: 'linepace campaigns pause CAMPAIGN_ID',
  resumeCampaign: 'linepace campaigns resume CAMPAIGN_ID',
  archiveCampaign: 'linepace campaigns archive CAMPAIGN_ID',
};

/** Adds samples to each operation of an OpenAPI document, as `x-codeSamples`. */
export function addCodeSamples(document: object): void {
  const { paths, components } = document as Document;
  for (const [path, operations] of Object.entries(paths))
    for (const [method, operation] of Object.entries(operations))
      if (path.startsWith('/api/'))
        Object.assign(operation, { 'x-codeSamples': samplesOf(method, path, operation, components) });
}

function samplesOf(
  method: string,
  path: string,
  operation: Operation,
  components: Document['components'],
): CodeSample[] {
  const { operationId = '', parameters = [], requestBody } = operation;
  const ids = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name);
  const query = Object.fromEntries(
    parameters
      .filter((parameter) => parameter.in === 'query' && parameter.required)
      .map(({ name, schema = {} }) => [name, valueOf(schema, components, name)]),
  );
  const json = requestBody?.content['application/json'];
  const body = json && exampleBody(operationId, json.schema ?? {}, components);
  // The document names forms first, which clients in several languages need; a file alone is simpler to send.
  const others = Object.keys(requestBody?.content ?? {});
  const otherBody = json ? undefined : others.at(-1);
  const isWhole = json !== undefined && hasAlternatives(json.schema ?? {}, components);
  const call = { ...operation, operationId, method, path, ids, query, body, isWhole, otherBody };
  const command = COMMANDS[operationId];
  const byCurl: CodeSample = { lang: 'bash', label: 'curl', source: curl(call) };
  // The clients have nothing for operators.
  if (operation.tags?.includes('System')) return [byCurl];
  return [
    byCurl,
    { lang: 'javascript', label: 'TypeScript', source: typeScript(call) },
    { lang: 'python', label: 'Python', source: python(call) },
    ...(command === undefined ? [] : [{ lang: 'bash', label: 'CLI', source: command } as const]),
  ];
}

function hasAlternatives(schema: Schema, components: Document['components']): boolean {
  const { anyOf, oneOf } = components.schemas[schema.$ref?.split('/').at(-1) ?? ''] ?? schema;
  return (anyOf ?? oneOf) !== undefined;
}

/** A body that the operation accepts. */
function exampleBody(
  operationId: string,
  schema: Schema,
  components: Document['components'],
): Record<string, unknown> {
  return EXAMPLES[operationId] ?? (valueOf(schema, components, '') as Record<string, unknown>);
}

/** The smallest value of a schema, with placeholders such as `LEAD_ID`. */
function valueOf(schema: Schema, components: Document['components'], name: string): unknown {
  const {
    $ref,
    type,
    enum: values,
    const: constant,
    example,
    properties = {},
    required = [],
    items,
    anyOf,
    oneOf,
  } = schema;
  if ($ref !== undefined)
    return valueOf(components.schemas[$ref.split('/').at(-1) ?? ''] ?? {}, components, name);
  if (example !== undefined) return example;
  if (constant !== undefined) return constant;
  if (values !== undefined) return values[0];
  const [alternative] = anyOf ?? oneOf ?? [];
  if (alternative !== undefined) return valueOf(alternative, components, name);
  const kind = Array.isArray(type) ? type[0] : type;
  if (kind === 'object')
    return Object.fromEntries(required.map((key) => [key, valueOf(properties[key] ?? {}, components, key)]));
  if (kind === 'array')
    return items === undefined ? [] : [valueOf(items, components, name.replace(/s$/, ''))];
  if (kind === 'boolean') return true;
  if (kind === 'integer' || kind === 'number') return 1;
  return placeholder(name);
}

/** Values of fields whose format is validated. */
const VALUES: Record<string, string> = {
  address: '+14155550123',
  email: 'ada@example.com',
  number: '+14155550123',
  phone: '+14155550123',
  returnUrl: 'https://example.com/done',
  url: 'https://example.com/linepace',
};

const placeholder = (name: string): string => VALUES[name] ?? snakeCase(name).toUpperCase();

interface Call {
  tags?: string[];
  operationId: string;
  method: string;
  path: string;
  ids: string[];
  query: Record<string, unknown>;
  body: Record<string, unknown> | undefined;
  /** Whether the TypeScript client takes the body as a whole, because its fields depend on each other. */
  isWhole: boolean;
  /** The media type of a body that is not JSON. */
  otherBody: string | undefined;
}

function curl({ method, path, query, body, otherBody }: Call): string {
  const search = new URLSearchParams(query as Record<string, string>).toString();
  const url =
    path.replaceAll(/\{(\w+)\}/g, (_, name: string) => placeholder(name)) + (search && `?${search}`);
  return [
    `curl "$LINEPACE_URL${url}"${method === 'get' ? '' : ` -X ${method.toUpperCase()}`}`,
    '-H "Authorization: Bearer $LINEPACE_API_KEY"',
    ...(body === undefined
      ? []
      : [
          "-H 'Content-Type: application/json'",
          `-d '${JSON.stringify(body).replaceAll("'", String.raw`'\''`)}'`,
        ]),
    ...(otherBody === 'multipart/form-data' ? ['-F file=@photo.jpg'] : []),
    ...(otherBody === 'text/csv' ? ["-H 'Content-Type: text/csv'", '--data-binary @contacts.csv'] : []),
  ].join(' \\\n  ');
}

function typeScript({
  tags: [tag = ''] = [],
  operationId,
  ids,
  query,
  body,
  isWhole,
  otherBody,
}: Call): string {
  const setup = "import { Linepace } from 'linepace';\n\nconst linepace = new Linepace();\n";
  if (operationId === 'streamEvents')
    return `${setup}for await (const { event, data } of linepace.stream()) console.log(event, data);`;
  const { group, method } = sdkMethod({ tag, operationId });
  const fields = {
    ...Object.fromEntries(ids.map((name) => [name, placeholder(name)])),
    ...query,
    ...(isWhole ? { body } : body),
  };
  const file =
    {
      'multipart/form-data': ["file: new Blob(['…'], { type: 'image/jpeg' })"],
      'text/csv': [String.raw`body: 'firstName,phone\nAda,+14155550123'`],
    }[otherBody ?? ''] ?? [];
  const argument = [
    ...Object.entries(fields).map(([name, value]) => `${keyOf(name)}: ${literal(value)}`),
    ...file,
  ].join(',\n  ');
  return `${setup}const result = await linepace.${group}.${method}(${argument && `{\n  ${argument},\n}`});`;
}

const keyOf = (name: string): string => (/^\w+$/.test(name) ? name : `'${name}'`);

/** A JavaScript literal, with single quotes. */
function literal(value: unknown): string {
  if (typeof value === 'string') return `'${value.replaceAll('\\', '\\\\').replaceAll("'", String.raw`\'`)}'`;
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`;
  if (typeof value === 'object' && value !== null)
    return `{ ${Object.entries(value)
      .map(([name, inner]) => `${keyOf(name)}: ${literal(inner)}`)
      .join(', ')} }`;
  return String(value);
}

function python({ tags: [tag = ''] = [], operationId, ids, query, body, otherBody }: Call): string {
  const setup = 'from linepace import Linepace\n\nlinepace = Linepace()\n';
  if (operationId === 'streamEvents')
    return `${setup}for event in linepace.stream():\n    print(event.event, event.data)`;
  const { group, method } = sdkMethod({ tag, operationId });
  const values = [
    ...ids.map((name) => `"${placeholder(name)}"`),
    ...(otherBody === undefined
      ? []
      : [otherBody === 'text/csv' ? 'open("contacts.csv")' : 'open("photo.jpg", "rb")']),
    ...Object.entries({ ...query, ...body }).map(([name, value]) =>
      pythonArgument(name, pythonLiteral(value)),
    ),
  ];
  const argument = values.length > 1 ? `\n    ${values.join(',\n    ')},\n` : values.join('');
  return `${setup}result = linepace.${snakeCase(group)}.${snakeCase(method)}(${argument})`;
}

/** `from` is a keyword of the language. */
const pythonArgument = (name: string, value: string): string =>
  name === 'from' ? `**{"from": ${value}}` : `${name}=${value}`;

function pythonLiteral(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(pythonLiteral).join(', ')}]`;
  if (typeof value === 'object' && value !== null)
    return `{${Object.entries(value)
      .map(([name, inner]) => `${JSON.stringify(name)}: ${pythonLiteral(inner)}`)
      .join(', ')}}`;
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  return value === null ? 'None' : JSON.stringify(value);
}
