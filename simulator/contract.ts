import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { parseOwnJson } from '#domain/base/own-json.ts';

/** The part of a vendor's OpenAPI document that the product uses: requests, and the responses that it reads. */
const Schema = z.record(z.string(), z.json());
const Contract = z.object({
  source: z.string(),
  operations: z.array(
    z.object({
      method: z.string(),
      path: z.string(),
      headers: z.record(z.string(), z.string()).default({}),
      pathParameters: z.record(z.string(), Schema),
      query: z.record(z.string(), Schema),
      requiredQuery: z.array(z.string()).default([]),
      body: Schema.optional(),
      status: z.int(),
      response: Schema,
    }),
  ),
});

export interface VendorContract {
  /** @throws ZodError if the vendor's document does not allow the request. */
  checkRequest(request: {
    method: string;
    path: string;
    query: Record<string, unknown>;
    body: unknown;
    /** By their names in lower case. */
    headers?: Record<string, unknown>;
  }): {
    status: number;
    /** @throws ZodError if the vendor does not answer so. */
    checkResponse(body: unknown): void;
  };
}

const schemaOf = (schema: z.infer<typeof Schema>): z.ZodType => z.fromJSONSchema(schema);

const matches = (template: string, path: string): boolean =>
  new RegExp(`^${template.replaceAll('.', String.raw`\.`).replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path);

/** Reads the contract that a stand-in of a vendor holds both sides to. */
export function readVendorContract(file: URL): VendorContract {
  const operations = Contract.parse(parseOwnJson(readFileSync(file, 'utf8'))).operations.map((operation) => ({
    ...operation,
    bodySchema: operation.body && schemaOf(operation.body),
    responseSchema: schemaOf(operation.response),
    querySchema: z.strictObject(
      Object.fromEntries(
        Object.entries(operation.query).map(([name, schema]) => {
          const { enum: allowed } = z.object({ enum: z.array(z.string()).optional() }).parse(schema);
          const value = allowed ? z.enum(allowed) : z.string();
          return [name, operation.requiredQuery.includes(name) ? value : value.optional()];
        }),
      ),
    ),
  }));
  return {
    checkRequest({ method, path, query, body, headers = {} }) {
      const operation = operations.find((one) => one.method === method && matches(one.path, path));
      if (!operation)
        throw new z.ZodError([{ code: 'custom', path: [], message: `no ${method} ${path}`, input: path }]);
      for (const [name, value] of Object.entries(operation.headers)) z.literal(value).parse(headers[name]);
      operation.querySchema.parse(query);
      operation.bodySchema?.parse(body);
      return {
        status: operation.status,
        checkResponse: (answer) => void operation.responseSchema.parse(answer),
      };
    },
  };
}
