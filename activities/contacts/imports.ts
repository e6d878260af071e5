import { recordConsents } from '#db/commands/contacts/consents.ts';
import { emitEvents } from '#db/commands/events/events.ts';
import type { Readable } from 'node:stream';
import { currentTime } from '#domain/base/clock.ts';
import {
  recordBatch,
  finishImport,
  presentImport,
  findImport,
  type ImportRow,
  lockImport,
} from '#db/queries/contacts/lead-imports.ts';
import { erasingAmong } from '#db/queries/contacts/erasures.ts';
import { addressesOf, insertLeads } from '#db/queries/contacts/leads.ts';
import { recordCustomFields } from '#db/queries/accounts/limits.ts';
import { LimitReached } from '#domain/accounts/limits.ts';
import { lockList } from '#db/queries/contacts/lists.ts';
import { type TenantDb, withTenant } from '#db/connection/transactions.ts';
import { contactOwners } from '#db/queries/accounts/workspace-users.ts';
import { workspaceCountry, workspaceTimezone } from '#db/queries/accounts/workspaces.ts';
import { dayBounds, wallClock } from '#domain/base/calendar.ts';
import type { NewConsent, RowConsent } from '#domain/contacts/consent.ts';
import type { ColumnMap } from '#domain/contacts/lead-import.ts';
import { type NormalizedLead, type PhoneDefaults, unlikelyNumbers } from '#domain/contacts/lead.ts';
import { mapInTurns } from '#domain/base/turns.ts';
import { type LeadRow, openLeadFile, UnreadableFile } from '#providers/lead-file.ts';
import { storageKey } from '#providers/storage/storage.ts';
import { leadImportId } from '#workflows/protocol/workflow-ids.ts';
import type { Round } from '#workflows/protocol/round.ts';
import type { Dependencies } from '../dependencies.ts';
import { withHeartbeat } from '../base/heartbeat.ts';
import { decideToEnd, dueNow, roundOf } from '../base/round.ts';
import { ROWS_PER_TRANSACTION } from '../base/transaction-size.ts';

const ROUND_MS = 3 * 60_000;
/** A batch of long rows ends with the row that exceeds it. In memory, a character takes up to two bytes. */
const CHARACTERS_PER_BATCH = 2_000_000;

interface Batch {
  columns: ColumnMap;
  rows: readonly LeadRow[];
}

export function createImportActivities({ pools, storage, logger }: Dependencies) {
  /** Saves the rows after those already saved. Holds two batches in memory: one is read while the other is saved. */
  async function saveRows(
    workspaceId: string,
    row: ImportRow,
    canceled: AbortSignal,
  ): Promise<'more' | { error: string | null }> {
    const file = await storage.open(row.fileKey);
    if (!file) return { error: 'the file is gone' };
    const country = await withTenant(pools, workspaceId, workspaceCountry);
    const defaults = { country, callingCode: row.defaultCountryCode ?? undefined };
    const end = Date.now() + ROUND_MS;
    let { processed } = row;
    try {
      for await (const batch of ahead(batchesOf(file, row, defaults))) {
        await withTenant(pools, workspaceId, (db) => saveBatch(db, row, processed, batch));
        processed += batch.rows.length;
        // After the last batch, the next round finds the end of the file.
        if (canceled.aborted || Date.now() > end) return 'more';
      }
      return { error: null };
    } catch (error) {
      if (error instanceof UnreadableFile) return { error: error.message };
      throw error;
    } finally {
      file.destroy();
    }
  }

  return {
    /** Saves the leads of a file to their list. Rows that cannot be saved are stored with the reason. */
    async importLeads({ workspaceId, importId }: { workspaceId: string; importId: string }): Promise<Round> {
      return withHeartbeat(async (canceled) => {
        const row = await withTenant(pools, workspaceId, (db) => findImport(db, importId));
        let reason = 'the import is over';
        if (row?.status === 'running') {
          const result = await saveRows(workspaceId, row, canceled);
          if (result === 'more') return roundOf(dueNow('there are more rows to save'));
          await withTenant(pools, workspaceId, (db) => endImport(db, importId, result.error));
          logger.info({ importId, failed: result.error !== null }, 'an import ended');
          reason = endOf(result.error);
        }
        // Also for an import that is over: a retry deletes what a crash left, and the row is gone if the list was deleted.
        await storage.delete(storageKey(workspaceId, importId));
        return decideToEnd(pools, workspaceId, leadImportId(importId), reason);
      });
    },
  };
}

/** Sets the final status, and tells of it. */
async function endImport(db: TenantDb, importId: string, error: string | null): Promise<void> {
  const row = await finishImport(db, importId, error);
  if (!row) return;
  const now = currentTime();
  const event = {
    event: 'import.completed' as const,
    timestamp: now.toISOString(),
    workspaceId: db.workspaceId,
    importId,
    listId: row.listId,
    import: presentImport(row),
  };
  await emitEvents(db, [event], now);
}

/** The error may quote a row, so it goes to the import's report and not into the workflow history. */
const endOf = (error: string | null): string =>
  error === null ? 'the file is saved' : 'the file cannot be read any further';

/** Starts to read the next item while the current one is used. */
async function* ahead<Item>(items: AsyncGenerator<Item>): AsyncGenerator<Item> {
  let next = items.next();
  for (;;) {
    const { value, done } = await next;
    if (done) return;
    next = items.next();
    // The error is reported when the next item is requested.
    next.catch(() => {});
    yield value;
  }
}

/**
 * The rows of a file after those already saved, in batches of `ROWS_PER_TRANSACTION`, or fewer if they are long.
 * @throws UnreadableFile after the batches before the problem.
 */
async function* batchesOf(
  file: Readable,
  { processed: done, maxRows }: Pick<ImportRow, 'processed' | 'maxRows'>,
  defaults: PhoneDefaults,
): AsyncGenerator<Batch> {
  const { columns, rows: all } = await openLeadFile(file, defaults);
  let rows: LeadRow[] = [];
  let characters = 0;
  let count = done;
  let problem: UnreadableFile | null = null;
  try {
    for await (const row of all(done)) {
      if (maxRows !== null && count >= maxRows)
        throw new UnreadableFile(
          `in test mode without a subscription, only the first ${maxRows.toLocaleString('en-US')} rows are imported`,
        );
      count += 1;
      rows.push(row);
      characters += lengthOf('lead' in row ? row.cells : row.rejected.fields);
      if (rows.length < ROWS_PER_TRANSACTION && characters <= CHARACTERS_PER_BATCH) continue;
      yield { columns, rows };
      rows = [];
      characters = 0;
    }
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    problem = error;
  }
  if (rows.length > 0) yield { columns, rows };
  if (problem) throw problem;
}

const lengthOf = (cells: readonly string[]): number => cells.reduce((sum, cell) => sum + cell.length, 0);

const customFieldsOf = (rows: readonly LeadRow[]): Set<string> =>
  new Set(rows.flatMap((read) => ('lead' in read ? Object.keys(read.lead.customFields) : [])));

/** Rejects a row with custom fields for which the workspace has no room. */
function withoutNewFields(read: LeadRow, tooMany: ReadonlySet<string>): LeadRow {
  const name = 'lead' in read && Object.keys(read.lead.customFields).find((field) => tooMany.has(field));
  if (!('lead' in read) || name === false || name === undefined) return read;
  const reason = `${name}: ${new LimitReached('customFields').message}`;
  return { rejected: { rowNumber: read.rowNumber, reason, fields: read.cells } };
}

/** A row may have a day without a time, which is that day's midnight in UTC. */
const beginningOfDay = (timezone: string, at: Date): Date =>
  new Date(
    Math.min(
      dayBounds(timezone, at).start.getTime(),
      Date.parse(wallClock(timezone, at).toISOString().slice(0, 10)),
    ),
  );

/** Rejects a row whose consent was given before the day of the import, if its key may not record such. */
function withoutBackdating(read: LeadRow, today: Date): LeadRow {
  const at = 'lead' in read ? read.consent?.at : undefined;
  if (!('lead' in read) || !at || at >= today) return read;
  const reason = 'consentAt: a consent that was given before today needs a key with the scope manage';
  return { rejected: { rowNumber: read.rowNumber, reason, fields: read.cells } };
}

/** A row's consent applies to all its addresses. */
const consentsOf = (
  lead: NormalizedLead,
  { status, source, evidence, at }: RowConsent,
  { recordedBy, now }: { recordedBy: string | null; now: Date },
): NewConsent[] =>
  addressesOf(lead).map((address) => ({
    address,
    channel: 'any',
    status,
    source,
    evidence,
    at: at ?? now,
    recordedBy,
  }));

async function saveBatch(
  db: TenantDb,
  row: ImportRow,
  processed: number,
  { columns, rows }: Batch,
): Promise<void> {
  // Before the list is locked, as everywhere.
  const tooMany = await recordCustomFields(db, customFieldsOf(rows));
  await lockList(db, row.listId);
  if (!(await lockImport(db, row.id, processed)))
    throw new Error('another worker has taken over this import');
  const today = row.backdates ? null : beginningOfDay(await workspaceTimezone(db), row.createdAt);
  const dated = today === null ? rows : rows.map((read) => withoutBackdating(read, today));
  const admitted = tooMany.size === 0 ? dated : dated.map((read) => withoutNewFields(read, tooMany));
  const found = admitted.filter((read) => 'lead' in read);
  const leads = found.map(({ lead }) => lead);
  const rejected = admitted.flatMap((read) => ('rejected' in read ? [read.rejected] : []));
  const erasing = await erasingAmong(db, leads.flatMap(addressesOf), row.id);
  const isErasing = (lead: NormalizedLead): boolean =>
    addressesOf(lead).some((address) => erasing.has(address));
  const kept = erasing.size === 0 ? found : found.filter(({ lead }) => !isErasing(lead));
  const ownerOf = await contactOwners(
    db,
    kept.map(({ lead }) => lead.contactOwnerEmail),
  );
  const owned = kept.map(({ lead }) => ({ ...lead, contactOwnerEmail: ownerOf(lead.contactOwnerEmail) }));
  const now = currentTime();
  const { recordedBy } = row;
  const results = await insertLeads(db, row.listId, owned, { source: 'import', now });
  const changed = results.filter(({ isNew }, index) => isNew || kept[index]?.consent);
  await recordConsents(
    db,
    kept.flatMap(({ lead, consent }) => (consent ? consentsOf(lead, consent, { recordedBy, now }) : [])),
    [...new Set(changed.map(({ id }) => id))],
    now,
  );
  const saved = owned.filter((_, index) => results[index]?.isNew);
  const unlikely = await mapInTurns(saved, unlikelyNumbers);
  await recordBatch(db, row.id, {
    columns: columns.columns,
    saved: saved.length,
    duplicates: results.length - saved.length,
    rejected,
    unlikelyNumbers: unlikely.filter((phones) => phones.length > 0).length,
    erased: leads.length - kept.length,
  });
}
