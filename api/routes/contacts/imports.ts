import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { z } from 'zod';
import { findImport, insertImport, presentImport, rejectedRows } from '#db/queries/contacts/lead-imports.ts';
import { customFieldNames, type LeadRow, listLeads } from '#db/queries/contacts/leads.ts';
import { findList } from '#db/queries/contacts/lists.ts';
import type { ApiPools } from '#db/connection/pools.ts';
import { workspaceCountry } from '#db/queries/accounts/workspaces.ts';
import { type TenantDb, withTenant, withTenantReads } from '#db/connection/transactions.ts';
import { csvLine } from '#domain/base/csv.ts';
import { isUnpaidTest } from '#domain/billing/entitlement.ts';
import { Id, newId } from '#domain/base/ids.ts';
import { ImportPreview, LeadImport } from '#domain/contacts/lead-import.ts';
import { DefaultCountryCode } from '#domain/contacts/lead.ts';
import { columnField } from '#domain/shared/lead-columns.ts';
import { UNPAID_TEST_IMPORT_ROWS } from '#domain/test-mode/test-mode.ts';
import { previewLeads } from '#providers/lead-file.ts';
import { mayBackdate } from './consents.ts';
import { FileTooLarge, storageKey } from '#providers/storage/storage.ts';
import { attachment, csvLines } from '#api/http/csv.ts';
import { ApiError } from '#api/http/errors.ts';
import { withIdempotencyKey, workspaceKeys } from '#api/http/idempotency.ts';
import { ResponseStream, workspaceRoute } from '#api/http/route.ts';
import { readUpload } from '#api/http/upload.ts';
import { assertRoom, assertWithinQuota, quotaOf } from '../messages/storage-quota.ts';
import { deleteUnrecorded } from '../messages/unrecorded-file.ts';
import { listNotFound } from './lists.ts';

const ListParams = z.object({ id: Id });

const ImportParams = z.object({ id: Id, importId: Id });

const importNotFound = (): ApiError => new ApiError('NOT_FOUND', 'Import not found');

const ImportStarted = z.object({ success: z.literal(true), importId: Id });

const MAX_FILE_BYTES = 100 * 1024 * 1024;
const MAX_PREVIEW_BYTES = 1024 * 1024;

/** Rows in memory at a time; a row has up to 200 KB. */
const PAGE = 200;

const COLUMNS = [
  'firstName',
  'lastName',
  'email',
  'phone',
  'companyName',
  'jobTitle',
  'notes',
  'contactOwnerEmail',
  'status',
  'createdAt',
];

export const importRoutes = [
  workspaceRoute({
    id: 'importLeads',
    method: 'POST',
    path: '/api/lists/{id}/import',
    tag: 'Contacts',
    needsSubscription: true,
    transaction: false,
    summary: 'Import leads from a CSV file of up to 100 MB, in the background',
    description:
      'The file is the body (`text/csv`) or the part `file` of a form. Its first row is the header; unknown columns become custom fields, at most 100. It is read as UTF-8, UTF-16, Windows-1252 or Mac Roman. A consent (`consentSource`, `consentAt`) that was given before today needs the scope `manage`: without it, its row is rejected.',
    params: ListParams,
    query: z.object({ defaultCountryCode: DefaultCountryCode.optional() }),
    consumes: ['text/csv', 'multipart/form-data'],
    idempotent: true,
    responses: { 202: ImportStarted },
    errors: ['NOT_FOUND', 'INCOMPLETE_BODY', 'STORAGE_QUOTA_EXCEEDED'],
    async handler({ caller, params, query, raw, header, now, pools, storage, secrets, config }) {
      const { workspace, userId } = caller;
      const exists = (db: TenantDb) => findList(db, params.id);
      if (!(await withTenant(pools, workspace.id, exists))) throw listNotFound();
      const idempotencyKey = header('idempotency-key');
      const quota = quotaOf(workspace, config.storageQuota);
      await assertRoom(pools, workspace.id, { quota, route: 'importLeads', idempotencyKey });
      const importId = newId(now);
      const fileKey = storageKey(workspace.id, importId);
      const hash = createHash('sha256').update(`${params.id} ${query.defaultCountryCode ?? ''}\n`);
      const size = await readUpload(raw, { bodyType: 'text/csv', limit: MAX_FILE_BYTES }, ({ content }) => {
        const file = Readable.from(hashed(content, hash), { objectMode: false });
        return storage.put(fileKey, file, MAX_FILE_BYTES, 'text/csv');
      });
      const request = { route: 'importLeads', key: idempotencyKey, hash: hash.digest('hex') };
      try {
        const { body } = await withTenant(pools, workspace.id, (db) =>
          withIdempotencyKey(workspaceKeys(db), request, secrets, async () => {
            if (!(await exists(db))) throw listNotFound();
            const { id: listId } = params;
            await insertImport(
              db,
              {
                id: importId,
                listId,
                fileKey,
                defaultCountryCode: query.defaultCountryCode ?? null,
                userId,
                size,
                maxRows: isUnpaidTest(workspace) ? UNPAID_TEST_IMPORT_ROWS : null,
                recordedBy: caller.actor.name,
                backdates: mayBackdate(caller),
              },
              now,
            );
            await assertWithinQuota(db, quota);
            return { status: 202, body: { success: true, importId } };
          }),
        );
        const started = ImportStarted.parse(body);
        if (started.importId !== importId) await storage.delete(fileKey);
        return {
          status: 202,
          body: started,
          headers: started.importId === importId ? {} : { 'Idempotent-Replayed': 'true' },
        };
      } catch (error) {
        const find = (db: TenantDb) => findImport(db, importId);
        await deleteUnrecorded(storage, fileKey, async () => !!(await withTenant(pools, workspace.id, find)));
        throw error;
      }
    },
  }),

  workspaceRoute({
    id: 'previewImport',
    method: 'POST',
    path: '/api/lists/{id}/import/preview',
    tag: 'Contacts',
    scope: 'read',
    transaction: false,
    summary: 'Preview what an import would make of a CSV file',
    description:
      'Saves nothing. Takes a file as the import does, or its beginning: up to 1 MB, of which the first 20 rows are shown. To change what a column becomes, rename it in the header.',
    params: ListParams,
    query: z.object({ defaultCountryCode: DefaultCountryCode.optional() }),
    consumes: ['text/csv', 'multipart/form-data'],
    responses: { 200: ImportPreview.extend({ success: z.literal(true) }) },
    errors: ['NOT_FOUND', 'INCOMPLETE_BODY'],
    async handler({ caller, params, query, raw, pools }) {
      const country = await withTenant(pools, caller.workspace.id, async (db) =>
        (await findList(db, params.id)) ? workspaceCountry(db) : null,
      );
      if (country === null) throw listNotFound();
      const defaults = { country, callingCode: query.defaultCountryCode };
      const preview = await readUpload(
        raw,
        { bodyType: 'text/csv', limit: MAX_PREVIEW_BYTES },
        async ({ content }) => previewLeads(Readable.from(await received(content)), defaults),
      );
      return { status: 200, body: { success: true, ...preview } };
    },
  }),

  workspaceRoute({
    id: 'getImport',
    method: 'GET',
    path: '/api/lists/{id}/imports/{importId}',
    tag: 'Contacts',
    summary: 'Get the progress of an import',
    params: ImportParams,
    responses: { 200: LeadImport.extend({ success: z.literal(true) }) },
    errors: ['NOT_FOUND'],
    async handler({ db, params }) {
      const row = await findImport(db, params.importId);
      if (row?.listId !== params.id) throw importNotFound();
      return { status: 200, body: { success: true, ...presentImport(row) } };
    },
  }),

  workspaceRoute({
    id: 'getRejectedRows',
    method: 'GET',
    path: '/api/lists/{id}/imports/{importId}/rejected',
    tag: 'Contacts',
    transaction: false,
    summary: 'Export the rejected rows of an import as CSV, with row number and reason',
    params: ImportParams,
    produces: 'text/csv',
    responses: { 200: ResponseStream },
    errors: ['NOT_FOUND'],
    async handler({ caller, params, pools }) {
      const row = await withTenantReads(pools, caller.workspace.id, (db) => findImport(db, params.importId));
      if (row?.listId !== params.id) throw importNotFound();
      async function* lines() {
        yield csvLine(['row', 'reason', ...(row?.columns ?? [])]);
        let after = 0;
        for (;;) {
          const rows = await withTenantReads(pools, caller.workspace.id, (db) =>
            rejectedRows(db, params.importId, after, PAGE),
          );
          yield* csvLines(rows, ({ rowNumber, reason, fields }) => [String(rowNumber), reason, ...fields]);
          if (rows.length < PAGE) return;
          after = rows.at(-1)?.rowNumber ?? after;
        }
      }
      return { status: 200, body: Readable.from(lines()), headers: attachment('rejected.csv') };
    },
  }),

  workspaceRoute({
    id: 'exportList',
    method: 'GET',
    path: '/api/lists/{id}/export',
    tag: 'Contacts',
    transaction: false,
    summary: 'Export the leads of a list as CSV, newest first',
    description:
      'Cells that a spreadsheet would run as a formula are prefixed with an apostrophe. The file can be imported again.',
    params: ListParams,
    produces: 'text/csv',
    responses: { 200: ResponseStream },
    errors: ['NOT_FOUND'],
    async handler({ caller, params, pools }) {
      const list = await withTenantReads(pools, caller.workspace.id, (db) => findList(db, params.id));
      if (!list) throw listNotFound();
      return {
        status: 200,
        body: Readable.from(exported(pools, caller.workspace.id, list.id)),
        headers: attachment('leads.csv'),
      };
    },
  }),
];

/** The chunks of a file for a preview. @throws FileTooLarge */
async function received(content: Readable): Promise<Buffer[]> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of content) {
    chunks.push(chunk as Buffer);
    size += (chunk as Buffer).length;
    if (size > MAX_PREVIEW_BYTES) throw new FileTooLarge(MAX_PREVIEW_BYTES);
  }
  return chunks;
}

/** Passes a file through and hashes it, to detect an `Idempotency-Key` that is reused with another file. */
async function* hashed(source: Readable, hash: ReturnType<typeof createHash>) {
  for await (const chunk of source as AsyncIterable<Buffer>) {
    hash.update(chunk);
    yield chunk;
  }
}

async function* exported(pools: ApiPools, workspaceId: string, listId: string) {
  const custom = await withTenantReads(pools, workspaceId, (db) => customFieldNames(db, listId));
  yield csvLine([...COLUMNS, ...custom.map(customColumn)]);
  let cursor: string | undefined;
  for (;;) {
    const leads = await withTenantReads(pools, workspaceId, (db) =>
      listLeads(db, { listId }, { limit: PAGE, cursor }),
    );
    yield* csvLines(leads, (lead) => [...cells(lead), ...custom.map((name) => own(lead.customFields, name))]);
    if (leads.length < PAGE) return;
    cursor = leads.at(-1)?.id;
  }
}

/** The column of a custom field, in a form that an import does not take for another field. */
const customColumn = (name: string): string => (columnField(name) === null ? name : `customFields.${name}`);

/** `hasOwn`, because a custom field may be called `constructor`. */
const own = (fields: Record<string, string>, name: string): string =>
  Object.hasOwn(fields, name) ? (fields[name] ?? '') : '';

const cells = (lead: LeadRow): string[] => [
  lead.firstName,
  lead.lastName,
  lead.emails.join(';'),
  lead.phones.join(';'),
  lead.companyName,
  lead.jobTitle,
  lead.notes,
  lead.contactOwnerEmail ?? '',
  lead.status ?? '',
  lead.createdAt.toISOString(),
];
