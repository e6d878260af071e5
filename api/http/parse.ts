import { z } from 'zod';
import { plainIssue } from '#domain/base/issue-text.ts';
import { mapInTurns } from '#domain/base/turns.ts';
import { findUnstorable } from '#domain/base/untrusted-json.ts';
import { type ApiError, invalid, invalidFields, type Issue, issuesOf, MAX_ISSUES } from './errors.ts';

/** Longer lists are processed element by element, in turns of the event loop. */
const LONG = 20;

const PLAINLY = { error: plainIssue };

type Parsed = { data: unknown } | { issues: Issue[] };

/** @throws VALIDATION_ERROR, or the error that `refusal` returns. */
export function parse(schema: z.ZodType, value: unknown, refusal?: () => ApiError): unknown {
  return accepted(parsePart(schema, value), refusal);
}

/** @throws VALIDATION_ERROR */
export function requireHeaderLength(name: string, value: string, max: number): void {
  if (value.length > max) throw invalid(name, `must be at most ${max} characters`);
}

/**
 * Like `parse`, for bodies of up to 1 MB: the elements of long lists are parsed in turns, so that no list blocks
 * the event loop. The checks of its object see the unparsed elements; those of the list see the parsed ones, after its bounds.
 * @param isUpdate null and an empty text count as absent where the schema refuses them, but not if an update says nothing else: it asks to
 *   empty a field.
 * @throws VALIDATION_ERROR
 */
export async function parseInTurns(
  schema: z.ZodType,
  value: unknown,
  { isUpdate = false }: { isUpdate?: boolean } = {},
): Promise<unknown> {
  const { lists, outline } = longLists(schema, value);
  if (lists.length === 0) return accepted(parsePart(schema, value, isUpdate));
  const emptied = Object.fromEntries(lists.map(({ name }) => [name, []]));
  refuseUnstorable({ ...(value as object), ...emptied });
  const data = accepted(parsedBy(outline, value, isUpdate)) as Record<string, unknown>;
  for (const { name, items, element, whole } of lists)
    data[name] = checked(name, await parseElements(name, items, element), whole);
  return data;
}

/** A list whose elements are parsed, after the checks of the list. @throws VALIDATION_ERROR */
function checked(name: string, items: unknown[], whole: z.ZodType): unknown {
  const { data, error } = whole.safeParse(items, PLAINLY);
  if (!error) return data;
  throw invalidFields(
    issuesOf(error).map(({ path, message }) => ({ path: path === '' ? name : `${name}.${path}`, message })),
  );
}

/** Like `schema.parse`, for responses with long lists. @throws ZodError, which is a bug. */
export async function parseAnswerInTurns(schema: z.ZodType, value: unknown): Promise<unknown> {
  const { lists, outline } = longLists(schema, value);
  const data = outline.parse(value) as Record<string, unknown>;
  for (const { name, items, element } of lists)
    data[name] = await mapInTurns(items, (item) => element.parse(item));
  return data;
}

/** Characters that are encoded at a time. Encoding and joining the texts of a large page takes longer than a turn. */
const CHUNK = 64 * 1024;

/** Like `JSON.stringify`, but as bytes, and in turns for the elements of long lists; undefined if there are no long lists. */
export async function serializeInTurns(value: unknown): Promise<Buffer | undefined> {
  if (value === null || typeof value !== 'object') return undefined;
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  if (!fields.some(([, field]) => isLong(field))) return undefined;
  const chunks: Buffer[] = [];
  let text = '';
  const write = (part: string): void => {
    text += part;
    if (text.length < CHUNK) return;
    chunks.push(Buffer.from(text));
    text = '';
  };
  for (const [number, [name, field]] of fields.entries()) {
    write(`${number === 0 ? '{' : ','}${JSON.stringify(name)}:`);
    if (!isLong(field)) {
      write(JSON.stringify(field));
      continue;
    }
    await mapInTurns(field, (item, index) =>
      write(`${index === 0 ? '[' : ','}${JSON.stringify(item) ?? 'null'}`),
    );
    write(']');
  }
  return Buffer.concat([...chunks, Buffer.from(`${text}}`)]);
}

const isLong = (value: unknown): value is unknown[] => Array.isArray(value) && value.length > LONG;

async function parseElements(name: string, items: unknown[], element: z.ZodType): Promise<unknown[]> {
  const issues: Issue[] = [];
  const parsed = await mapInTurns(items, (item, index) => {
    if (issues.length >= MAX_ISSUES) return undefined;
    const part = parsePart(element, item);
    if ('data' in part) return part.data;
    for (const { path, message } of part.issues)
      issues.push({ path: [name, index, ...(path === '' ? [] : [path])].join('.'), message });
    return undefined;
  });
  if (issues.length > 0) throw invalidFields(issues);
  return parsed;
}

function parsePart(schema: z.ZodType, value: unknown, isUpdate = false): Parsed {
  const problem = unstorableIn(value);
  return problem ? { issues: [problem] } : parsedBy(schema, value, isUpdate);
}

function parsedBy(schema: z.ZodType, value: unknown, isUpdate: boolean): Parsed {
  const parsed = schema.safeParse(value, PLAINLY);
  if (parsed.success) return { data: parsed.data };
  const issues = issuesOf(parsed.error);
  const given = withoutEmpty(value, parsed.error);
  if (given === value || (isUpdate && Object.keys(given as object).length === 0)) return { issues };
  const again = schema.safeParse(given, PLAINLY);
  if (again.success) return { data: again.data };
  // What is required is missing now; its first issue says what was wrong with it.
  const first = new Map(issues.map((issue) => [issue.path, issue]));
  return { issues: issuesOf(again.error).map((issue) => first.get(issue.path) ?? issue) };
}

/**
 * The value without the fields that are null or an empty text where the schema accepts neither: automation tools send these
 * for fields that are not set.
 */
const withoutEmpty = (value: unknown, { issues }: z.ZodError): unknown =>
  issues
    .slice(0, MAX_ISSUES)
    .map(({ path }) => path)
    .filter((path) => typeof path.at(-1) === 'string' && isEmpty(valueAt(value, path)))
    .reduce(without, value);

const isEmpty = (value: unknown): boolean => value === null || value === '';

const valueAt = (value: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>((part, key) => fieldsOf(part)?.[key], value);

const fieldsOf = (value: unknown): Record<PropertyKey, unknown> | null =>
  value !== null && typeof value === 'object' ? (value as Record<PropertyKey, unknown>) : null;

/** A copy without the field at a path. */
function without(value: unknown, [key, ...rest]: readonly PropertyKey[]): unknown {
  if (key === undefined || value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.with(Number(key), without(value[Number(key)], rest));
  const { [key]: field, ...others } = value as Record<PropertyKey, unknown>;
  return rest.length === 0 ? others : { ...others, [key]: without(field, rest) };
}

function accepted(parsed: Parsed, refusal?: () => ApiError): unknown {
  if ('data' in parsed) return parsed.data;
  throw refusal?.() ?? invalidFields(parsed.issues.map(withSubject));
}

/** An issue of the body as a whole names no field. */
const withSubject = ({ path, message }: Issue): Issue => ({
  path,
  message: path === '' && /^(must|is) /.test(message) ? `the body ${message}` : message,
});

function unstorableIn(value: unknown): Issue | null {
  const problem = findUnstorable(value);
  return problem && { path: problem.path.join('.'), message: problem.message };
}

function refuseUnstorable(value: unknown): void {
  const problem = unstorableIn(value);
  if (problem) throw invalidFields([problem]);
}

interface LongList {
  name: string;
  items: unknown[];
  element: z.ZodType;
  /** The list with its checks, which leaves the elements as they are. */
  whole: z.ZodType;
}

/** @returns the long lists of an object, and a schema for the object that leaves their elements as they are. */
function longLists(schema: z.ZodType, value: unknown): { lists: LongList[]; outline: z.ZodType } {
  if (!(schema instanceof z.ZodObject) || value === null || typeof value !== 'object')
    return { lists: [], outline: schema };
  // Nearly no request and response has one.
  if (!Object.values(value).some(isLong)) return { lists: [], outline: schema };
  const shape: Record<string, z.core.$ZodType> = { ...schema.shape };
  const lists = Object.entries(value).flatMap(([name, items]) => {
    const list = isLong(items) && Object.hasOwn(shape, name) && listOf(shape[name]);
    if (!list) return [];
    const whole = z.core.clone(list, { ...list._zod.def, element: z.unknown() });
    // Keeps the bounds of the list.
    const bounds = list._zod.def.checks?.filter(({ _zod }) => _zod.def.check !== 'custom') ?? [];
    shape[name] = z.core.clone(list, { ...list._zod.def, element: z.unknown(), checks: bounds });
    return [{ name, items, element: list.element as z.ZodType, whole }];
  });
  if (lists.length === 0) return { lists, outline: schema };
  return { lists, outline: z.core.clone(schema, { ...schema._zod.def, shape }) };
}

/** The list schema of a field, which may be optional or have a default. */
function listOf(field: unknown): z.ZodArray | null {
  if (field instanceof z.ZodArray) return field;
  if (field instanceof z.ZodOptional || field instanceof z.ZodNullable || field instanceof z.ZodDefault)
    return listOf(field.unwrap());
  return null;
}
