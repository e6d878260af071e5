import { z } from 'zod';
import { findStoredAttachment, insertUpload } from '#db/queries/messages/attachments.ts';
import { type TenantDb, withTenant } from '#db/connection/transactions.ts';
import { parseRange } from '#domain/base/byte-range.ts';
import { linkExpiry, linkName, UPLOAD_LINK_DAYS, uploadKeptUntil } from '#domain/messages/attachment.ts';
import { ALLOWED_EXTENSIONS } from '#domain/messages/attachment-type.ts';
import { isUnpaidTest } from '#domain/billing/entitlement.ts';
import { isId, newId, WorkspaceId } from '#domain/base/ids.ts';
import { storageKey } from '#providers/storage/storage.ts';
import { UNPAID_TEST_FILE_DAYS } from '#domain/test-mode/test-mode.ts';
import { assertRoom, assertWithinQuota, quotaOf } from './storage-quota.ts';
import { receiveFile } from './attachment-upload.ts';
import { deleteUnrecorded } from './unrecorded-file.ts';
import { clientAddress } from '#api/http/client-address.ts';
import { ApiError } from '#api/http/errors.ts';
import { withIdempotencyKey, workspaceKeys } from '#api/http/idempotency.ts';
import { publicRoute, workspaceRoute } from '#api/http/route.ts';

const Upload = z.object({
  url: z.url().meta({
    description:
      'A signed link, valid for a year, that requires no other credential. In test mode without a subscription, it is valid for 7 days.',
  }),
  name: z.string(),
  size: z.int().meta({ description: 'Bytes.' }),
  contentType: z
    .string()
    .nullable()
    .meta({ description: 'The type reported by the client; null if it reported none.' }),
  workspaceId: WorkspaceId,
});

const CACHED_SECONDS = 86_400;

export const attachmentRoutes = [
  workspaceRoute({
    id: 'uploadAttachment',
    method: 'POST',
    path: '/api/attachments/upload',
    tag: 'Attachments',
    needsSubscription: true,
    transaction: false,
    summary: 'Upload a file of up to 25 MB for use in attachmentUrls',
    description: `Allowed types: ${ALLOWED_EXTENSIONS.join(', ')}. Audio in a message with \`voiceNote: true\` is converted to a voice note.`,
    consumes: ['multipart/form-data'],
    idempotent: true,
    responses: { 200: Upload },
    errors: ['VALIDATION_ERROR', 'INCOMPLETE_BODY', 'STORAGE_QUOTA_EXCEEDED'],
    async handler({ caller, raw, header, now, pools, storage, secrets, links, untrusted, config }) {
      const workspaceId = caller.workspace.id;
      const idempotencyKey = header('idempotency-key');
      const quota = quotaOf(caller.workspace, config.storageQuota);
      const linkDays = isUnpaidTest(caller.workspace) ? UNPAID_TEST_FILE_DAYS : UPLOAD_LINK_DAYS;
      await assertRoom(pools, workspaceId, { quota, route: 'uploadAttachment', idempotencyKey });
      const id = newId(now);
      const key = storageKey(workspaceId, id);
      const typeOf = (head: Uint8Array) => untrusted.run(workspaceId, 'typeOfContent', head);
      const file = await receiveFile(raw, { storage, key, typeOf });
      const { name, size, contentType, reportedType, fingerprint } = file;
      const request = { route: 'uploadAttachment', key: idempotencyKey, hash: fingerprint };
      let fresh = false;
      try {
        const { body } = await withTenant(pools, workspaceId, (db) =>
          withIdempotencyKey(workspaceKeys(db), request, secrets, async () => {
            fresh = true;
            const keptUntil = isUnpaidTest(caller.workspace)
              ? linkExpiry(now, now, linkDays)
              : uploadKeptUntil(now, linkDays);
            await insertUpload(db, { id, name, contentType, size, keptUntil }, now);
            await assertWithinQuota(db, quota);
            const url = links.sign(
              { workspaceId, attachmentId: id, name: linkName(name) },
              linkExpiry(now, now, linkDays),
            );
            return { status: 200, body: { url, name, size, contentType: reportedType, workspaceId } };
          }),
        );
        if (!fresh) await storage.delete(key);
        return {
          status: 200,
          body: Upload.parse(body),
          headers: fresh ? {} : { 'Idempotent-Replayed': 'true' },
        };
      } catch (error) {
        const find = (db: TenantDb) => findStoredAttachment(db, id);
        await deleteUnrecorded(storage, key, async () => !!(await withTenant(pools, workspaceId, find)));
        throw error;
      }
    },
  }),

  /** The tenant comes from the signed link. */
  publicRoute({
    id: 'downloadAttachment',
    method: 'GET',
    path: '/attachments/{workspaceId}/{attachmentId}/{name}',
    tag: 'Attachments',
    summary: 'Download a file, or a range of it, by its signed link; no Authorization header',
    query: z.object({ expires: z.string().optional(), signature: z.string().optional() }),
    contentTypes: {
      200: 'application/octet-stream',
      206: 'application/octet-stream',
      304: null,
    },
    errors: ['LINK_NOT_VALID', 'NOT_FOUND', 'RANGE_NOT_SATISFIABLE'],
    async respond(context, { pools, storage, links, rateLimits }) {
      const { workspaceId = '', attachmentId = '', name = '' } = context['params'] as Record<string, string>;
      const { expires, signature } = context.query;
      const link = { expires: String(expires), signature: String(signature) };
      if (!links.verify({ workspaceId, attachmentId, name }, link, new Date())) {
        await rateLimits.countFailure(clientAddress(context));
        throw new ApiError('LINK_NOT_VALID');
      }
      if (!WorkspaceId.safeParse(workspaceId).success || !isId(attachmentId)) throw new ApiError('NOT_FOUND');
      const file = await withTenant(pools, workspaceId, (db) => findStoredAttachment(db, attachmentId));
      if (!file) throw new ApiError('NOT_FOUND', 'The file is no longer there');
      // The content stored under an id never changes.
      const etag = `"${attachmentId}"`;
      const seconds = Number(expires) - Math.floor(Date.now() / 1000);
      context.set({
        ETag: etag,
        'Cache-Control': `private, max-age=${Math.min(seconds, CACHED_SECONDS)}, immutable`,
        'Accept-Ranges': 'bytes',
        'Content-Security-Policy': "default-src 'none'; sandbox",
        // Signed links are embedded in emails and in other applications.
        'Cross-Origin-Resource-Policy': 'cross-origin',
      });
      context.status = 200;
      if (context.fresh) {
        context.status = 304;
        return;
      }
      const whole = ![etag, ''].includes(context.get('if-range'));
      const range = whole ? null : parseRange(context.get('range'), file.size);
      if (range === 'unsatisfiable') {
        context.set('Content-Range', `bytes */${file.size}`);
        throw new ApiError('RANGE_NOT_SATISFIABLE');
      }
      const content = await storage.open(storageKey(workspaceId, attachmentId), range ?? undefined);
      if (!content) throw new ApiError('NOT_FOUND', 'The file is no longer there');
      if (range) {
        context.status = 206;
        context.set('Content-Range', `bytes ${range.start}-${range.end}/${file.size}`);
      }
      // As an attachment, so that content sent by strangers is never displayed on our origin.
      context.attachment(file.name);
      context.type = file.contentType ?? 'application/octet-stream';
      context.length = range ? range.end - range.start + 1 : file.size;
      context.body = content;
    },
  }),
];
