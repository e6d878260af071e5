import { type FragmentSqlToken, sql, StatementTimeoutError } from 'slonik';
import { z } from 'zod';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { newId } from '#domain/base/ids.ts';
import { Refusal } from '#domain/base/refusal.ts';
import { mapInTurns, nextTurn, yielding } from '#domain/base/turns.ts';
import { Condition } from '#domain/campaigns/condition.ts';
import { holdAll, needsOf } from '#domain/campaigns/judge.ts';
import type { Segment, SegmentInput, SegmentPatch } from '#domain/contacts/segment.ts';
import { factsOf } from '../campaigns/facts.ts';
import { isVisible, LeadRow } from './leads.ts';

const SegmentRow = z.object({
  id: z.string(),
  name: z.string(),
  conditions: z.array(Condition),
  createdAt: z.date(),
  updatedAt: z.date(),
});
export type SegmentRow = z.infer<typeof SegmentRow>;

/** Newest first, starting after the id `cursor`. */
export async function listSegments(
  db: TenantDb,
  { limit, cursor }: { limit: number; cursor?: string | undefined },
): Promise<readonly SegmentRow[]> {
  return db.any(sql.type(SegmentRow)`
    select * from segments where ${sql.and([
      sql.fragment`workspace_id = ${db.workspaceId}`,
      cursor !== undefined && sql.fragment`id < ${cursor}`,
    ])} order by id desc limit ${limit}`);
}

export async function findSegment(db: TenantDb, id: string): Promise<SegmentRow | null> {
  return db.maybeOne(sql.type(SegmentRow)`
    select * from segments where workspace_id = ${db.workspaceId} and id = ${id}`);
}

/** Keeps a segment from being deleted until the transaction ends. */
export async function shareSegment(db: TenantDb, id: string): Promise<boolean> {
  return db.exists(sql.type(NoRows)`
    select 1 from segments where workspace_id = ${db.workspaceId} and id = ${id} for key share`);
}

export async function insertSegment(
  db: TenantDb,
  { name, when }: SegmentInput,
  now: Date,
): Promise<SegmentRow> {
  return db.one(sql.type(SegmentRow)`
    insert into segments (workspace_id, id, name, conditions, created_at, updated_at)
    values (${db.workspaceId}, ${newId(now)}, ${name}, ${sql.jsonb(when)}, ${sql.timestamp(now)}, ${sql.timestamp(now)})
    returning *`);
}

export async function updateSegment(
  db: TenantDb,
  id: string,
  { name, when }: SegmentPatch,
  now: Date,
): Promise<SegmentRow | null> {
  return db.maybeOne(sql.type(SegmentRow)`
    update segments set name = coalesce(${name ?? null}::text, name),
      conditions = ${when === undefined ? sql.fragment`conditions` : sql.jsonb(when)}, updated_at = ${sql.timestamp(now)}
    where workspace_id = ${db.workspaceId} and id = ${id} returning *`);
}

export async function deleteSegment(db: TenantDb, id: string): Promise<boolean> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    delete from segments where workspace_id = ${db.workspaceId} and id = ${id}`);
  return rowCount > 0;
}

/** Leads that are read and judged at a time. */
const PAGE = 500;

/** Those of the leads for whom all conditions hold. */
export const leadsFor = async <Lead extends LeadRow>(
  db: TenantDb,
  leads: readonly Lead[],
  when: readonly Condition[],
  now: Date,
): Promise<Lead[]> => (await judgeLeads(db, leads, { when, now })).holding;

/** @returns the leads for whom all conditions hold, and how many were judged in the time: at least one. */
async function judgeLeads<Lead extends LeadRow>(
  db: TenantDb,
  leads: readonly Lead[],
  {
    when,
    now,
    withinMs = Infinity,
  }: { when: readonly Condition[]; now: Date; withinMs?: number | undefined },
): Promise<{ holding: Lead[]; judged: number }> {
  const facts = await factsOf(db, leads, needsOf(when), null);
  const holding: Lead[] = [];
  let judged = 0;
  const begun = performance.now();
  for await (const lead of yielding(leads)) {
    if (judged > 0 && performance.now() - begun > withinMs) break;
    const known = facts.get(lead.id);
    if (known !== undefined && holdAll(when, known, now)) holding.push(lead);
    judged += 1;
  }
  return { holding, judged };
}

interface Range {
  /** The id of a lead. */
  after: string;
  newestFirst?: boolean;
  /** A further condition of the query. */
  only?: FragmentSqlToken;
}

/** The next leads in a range, whether or not they are in a segment. */
async function nextOf(
  db: TenantDb,
  { after, newestFirst = false, only }: Range,
): Promise<readonly LeadRow[]> {
  return db.any(sql.type(LeadRow)`
    select * from leads where ${sql.and([
      sql.fragment`workspace_id = ${db.workspaceId} and ${isVisible(db)}`,
      newestFirst ? sql.fragment`id < ${after}` : sql.fragment`id > ${after}`,
      only,
    ])} order by id ${newestFirst ? sql.fragment`desc` : sql.fragment``} limit ${PAGE}`);
}

/**
 * Looks at the next leads of a range, as many as are judged in the time.
 * @returns those of them in the segment, and the last of all; null: there are no more.
 */
export async function nextInSegment(
  db: TenantDb,
  when: readonly Condition[],
  range: Range,
  now: Date,
  withinMs?: number,
): Promise<{ leads: LeadRow[]; last: string | null }> {
  const rows = await nextOf(db, range);
  const { holding, judged } = await judgeLeads(db, rows, { when, now, withinMs });
  const isEnd = rows.length < PAGE && judged === rows.length;
  return { leads: holding, last: isEnd ? null : (rows[judged - 1]?.id ?? null) };
}

/** Sorts after every id, because ids are hexadecimal. */
const MAX_ID = 'g';

/** How long a request may look through the leads of its workspace. */
const LOOK_MS = 60_000;
/** Of these, for one statement. */
const STATEMENT_MS = 10_000;

/** Conditions cannot be judged for all leads of the workspace in time. */
export class TooManyToJudge extends Refusal {
  static readonly problem = 'cannot be judged in time for all leads of the workspace';

  /** @param what whose conditions. */
  constructor(what: string) {
    super('INVALID_STATE', null, `${what} ${TooManyToJudge.problem}`);
  }
}

/**
 * Bounds work that reads the leads of a workspace page by page, and each of its statements.
 * @param what of whom the leads are sought, for people.
 * @param look calls `goOn` before each page.
 * @throws TooManyToJudge
 */
async function within<T>(db: TenantDb, what: string, look: (goOn: () => void) => Promise<T>): Promise<T> {
  const begun = performance.now();
  await db.query(sql.type(NoRows)`select set_local('statement_timeout', ${String(STATEMENT_MS)})`);
  try {
    return await look(() => {
      if (performance.now() - begun > LOOK_MS) throw new TooManyToJudge(what);
    });
  } catch (error) {
    throw error instanceof StatementTimeoutError ? new TooManyToJudge(what) : error;
  }
}

/** The newest leads of a segment, starting after the id `cursor`. @throws TooManyToJudge */
export async function leadsOfSegment(
  db: TenantDb,
  when: readonly Condition[],
  { limit, cursor = MAX_ID }: { limit: number; cursor?: string | undefined },
  now: Date,
): Promise<LeadRow[]> {
  return within(db, 'The segment', async (goOn) => {
    const found: LeadRow[] = [];
    let after: string | null = cursor;
    while (after !== null && found.length < limit) {
      goOn();
      const { leads, last } = await nextInSegment(db, when, { after, newestFirst: true }, now);
      found.push(...leads);
      after = last;
      await nextTurn();
    }
    return found.slice(0, limit);
  });
}

/** The ids of all leads of a segment. @throws TooManyToJudge */
export const idsOfSegment = (db: TenantDb, { id, conditions }: SegmentRow, now: Date): Promise<string[]> =>
  within(db, `The segment ${id}`, (goOn) => idsInSegment(db, conditions, {}, now, (lead) => lead.id, goOn));

/** The ids of the leads of a segment, in a range; of a person who is several leads, the first. @param goOn is called before each page. */
export async function idsInSegment(
  db: TenantDb,
  when: readonly Condition[],
  range: Partial<Pick<Range, 'after' | 'only'>>,
  now: Date,
  personOf: (lead: LeadRow) => string,
  goOn: () => void = () => {},
): Promise<string[]> {
  const ids = new Map<string, string>();
  let after: string | null = range.after ?? '';
  while (after !== null) {
    goOn();
    const { leads, last } = await nextInSegment(db, when, { ...range, after }, now);
    for (const lead of leads) {
      const person = personOf(lead);
      if (!ids.has(person)) ids.set(person, lead.id);
    }
    after = last;
    await nextTurn();
  }
  return [...ids.values()];
}

/** How many leads are in each of the segments. Reads each lead once. @throws TooManyToJudge */
export async function countSegments(
  db: TenantDb,
  segments: readonly SegmentRow[],
  now: Date,
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map(segments.map(({ id }) => [id, 0]));
  const needs = needsOf(segments.flatMap(({ conditions }) => conditions));
  if (segments.length === 0) return counts;
  const what =
    segments.length === 1 ? `The segment ${segments[0]?.id}` : `So many segments (${segments.length})`;
  return within(db, what, async (goOn) => {
    let after: string | undefined = '';
    while (after !== undefined) {
      goOn();
      const rows: readonly LeadRow[] = await nextOf(db, { after });
      const facts = await factsOf(db, rows, needs, null);
      const judged = segments.flatMap((segment) => [...facts.values()].map((known) => ({ segment, known })));
      await mapInTurns(judged, ({ segment: { id, conditions }, known }) => {
        if (holdAll(conditions, known, now)) counts.set(id, (counts.get(id) ?? 0) + 1);
      });
      after = rows.length < PAGE ? undefined : rows.at(-1)?.id;
      await nextTurn();
    }
    return counts;
  });
}

export const presentSegment = (
  { id, name, conditions, createdAt, updatedAt }: SegmentRow,
  count: number,
): Segment => ({
  _id: id,
  name,
  when: conditions,
  count,
  createdAt: createdAt.toISOString(),
  updatedAt: updatedAt.toISOString(),
});
