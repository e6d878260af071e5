import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';

/** The part of a vendor's OpenAPI document that describes the requests which the product makes. */
const Rule = z.object({
  type: z.string().optional(),
  pattern: z.string().optional(),
  enum: z.array(z.string()).optional(),
  format: z.string().optional(),
  minLength: z.int().optional(),
  maxLength: z.int().optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  get items() {
    return Rule.optional();
  },
});
type Rule = z.infer<typeof Rule>;
const Rules = z.record(z.string(), Rule);
const Contract = z.object({
  operations: z.array(
    z.object({
      method: z.string(),
      path: z.string(),
      pathParameters: Rules,
      query: Rules,
      form: Rules.optional(),
      required: z.array(z.string()).default([]),
    }),
  ),
});
type Operation = z.infer<typeof Contract>['operations'][number];

export interface SentRequest {
  method: string;
  path: string;
  body: string;
  contentType?: string;
}

export const readContract = (file: URL): readonly Operation[] =>
  Contract.parse(JSON.parse(readFileSync(file, 'utf8'))).operations;

/** What is wrong with a request by a contract. */
export function violations(operations: readonly Operation[], { method, path, body }: SentRequest): string[] {
  const url = new URL(path, 'http://contract');
  const found = operations.flatMap((operation) => {
    const values = operation.method === method ? matchPath(operation.path, url.pathname) : null;
    return values ? [{ operation, values }] : [];
  });
  const [match] = found;
  if (!match) return [`there is no ${method} ${url.pathname}`];
  const { operation, values } = match;
  const form = [...new URLSearchParams(body)];
  const missing = operation.required.filter((name) => !form.some(([given]) => given === name));
  return [
    ...values.flatMap(([name, value]) => wrong(operation.pathParameters, name, value)),
    ...[...url.searchParams].flatMap(([name, value]) => wrong(operation.query, name, value)),
    ...form.flatMap(([name, value]) => wrong(operation.form ?? {}, name, value)),
    ...missing.map((name) => `${name} is missing`),
  ].map((problem) => `${method} ${operation.path}: ${problem}`);
}

/** @returns the parameters in a path; null: the template does not match. */
export function matchPath(template: string, path: string): [string, string][] | null {
  const names = [...template.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  const pattern = template.replaceAll('.', String.raw`\.`).replaceAll(/\{\w+\}/g, '([^/]+?)');
  const match = new RegExp(`^${pattern}$`).exec(path);
  return match && names.map((name, index) => [name, decodeURIComponent(match[index + 1] ?? '')]);
}

/** `items[][price]` is the rule of `items[0][price]`, and `metadata[*]` of all that `metadata` has. */
function ruleOf(rules: Record<string, Rule>, name: string): Rule | undefined {
  const rule =
    rules[name] ?? rules[name.replaceAll(/\[\d+\]/g, '[]')] ?? rules[name.replace(/\[[^[\]]+\]$/, '[*]')];
  return rule?.items ?? rule;
}

function wrong(rules: Record<string, Rule>, name: string, value: string): string[] {
  const rule = ruleOf(rules, name);
  if (!rule) return [`${name} is unknown`];
  const { type, pattern, enum: allowed, format, minLength = 0, maxLength = Infinity } = rule;
  const { minimum = -Infinity, maximum = Infinity } = rule;
  const isNumber = type === 'integer' || type === 'number';
  const holds =
    (type !== 'integer' || /^-?\d+$/.test(value)) &&
    (type !== 'boolean' || /^(?:true|false)$/.test(value)) &&
    (!isNumber || (Number(value) >= minimum && Number(value) <= maximum)) &&
    (pattern === undefined || new RegExp(pattern).test(value)) &&
    (allowed === undefined || allowed.includes(value)) &&
    (format !== 'uri' || URL.canParse(value)) &&
    (format !== 'phone-number' || /^\+\d{6,15}$/.test(value)) &&
    value.length >= minLength &&
    value.length <= maxLength;
  return holds ? [] : [`${name} must not be ${JSON.stringify(value)}`];
}

export interface Recorder {
  url: string;
  requests: SentRequest[];
  close(): Promise<void>;
}

/** A server that records requests and forwards them. */
export async function startRecorder(target: string): Promise<Recorder> {
  const requests: SentRequest[] = [];
  const server: Server = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const body = Buffer.concat(chunks).toString();
      const { method = 'GET', url = '/' } = request;
      const { authorization = '', 'content-type': contentType } = request.headers;
      requests.push({ method, path: url, body, ...(contentType !== undefined && { contentType }) });
      const answer = await fetch(target + url, {
        method,
        headers: { authorization, ...(contentType !== undefined && { 'content-type': contentType }) },
        ...(body !== '' && { body }),
      });
      response.writeHead(answer.status, {
        'content-type': answer.headers.get('content-type') ?? 'text/plain',
      });
      response.end(answer.status === 204 ? undefined : await answer.text());
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
