import { HttpMethodEnum, koaBody } from 'koa-body';
import type Koa from 'koa';
import { ApiError, invalid } from './errors.ts';

export const BODY_LIMIT = 1024 * 1024;

const parseJson = koaBody({
  json: true,
  jsonLimit: BODY_LIMIT,
  // Scalars are JSON as well; the route's schema refuses them with a better text.
  jsonStrict: false,
  multipart: false,
  urlencoded: false,
  text: false,
  parsedMethods: [HttpMethodEnum.POST, HttpMethodEnum.PUT, HttpMethodEnum.PATCH, HttpMethodEnum.DELETE],
});

/**
 * The JSON body of a request; `{}` when there is none.
 * @throws UNSUPPORTED_MEDIA_TYPE, INVALID_JSON, BODY_TOO_LARGE.
 */
export async function readBody(context: Koa.Context): Promise<unknown> {
  const length = context.request.length;
  const hasBody = (length ?? 0) > 0 || context.get('transfer-encoding') !== '';
  if (!hasBody) return {};
  if (!context.is('json')) throw new ApiError('UNSUPPORTED_MEDIA_TYPE');
  try {
    await parseJson(context, async () => {});
  } catch (error) {
    const status = (error as { status?: number }).status;
    if (status === 413) throw new ApiError('BODY_TOO_LARGE');
    if (status === 400 || error instanceof SyntaxError) throw new ApiError('INVALID_JSON');
    throw error;
  }
  const { body } = context.request as { body?: unknown };
  const field = fieldWithNul(body);
  if (field !== null) throw invalid(field, 'must not contain the NUL character');
  return body;
}

/** PostgreSQL keeps no NUL in a text: the path of the first value or name that holds one. */
function fieldWithNul(value: unknown, path: string[] = []): string | null {
  if (typeof value === 'string') return value.includes('\0') ? path.join('.') : null;
  if (value === null || typeof value !== 'object') return null;
  for (const [name, field] of Object.entries(value)) {
    if (name.includes('\0')) return path.join('.');
    const found = fieldWithNul(field, [...path, name]);
    if (found !== null) return found;
  }
  return null;
}

/**
 * The body as it came, for signatures over it.
 * @param limit in bytes.
 * @throws BODY_TOO_LARGE.
 */
export async function readRawBody(context: Koa.Context, limit = BODY_LIMIT): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of context.req as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit) throw new ApiError('BODY_TOO_LARGE');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
