import { Readable } from 'node:stream';
import { z } from 'zod';
import { lockContactCard, setContactCard } from '#db/commands/lines/contact-cards.ts';
import { withTenant } from '#db/connection/transactions.ts';
import { findLine } from '#db/queries/lines/lines.ts';
import { findStoredAttachment, insertUpload } from '#db/queries/messages/attachments.ts';
import { isPhoneChannel } from '#domain/base/channel.ts';
import { Id, newId } from '#domain/base/ids.ts';
import {
  CARD_TYPE,
  cardFileName,
  ContactCard,
  ContactCardInput,
  type StoredContactCard,
  vCard,
} from '#domain/lines/contact-card.ts';
import { uploadKeptUntil } from '#domain/messages/attachment.ts';
import { storageKey } from '#providers/storage/storage.ts';
import { ApiError } from '#api/http/errors.ts';
import { workspaceRoute } from '#api/http/route.ts';
import { assertWithinQuota, quotaOf } from '#api/routes/messages/storage-quota.ts';
import { deleteUnrecorded } from '#api/routes/messages/unrecorded-file.ts';
import { lineNotFound } from './lines.ts';

const params = z.object({ id: Id });
const Shown = z.object({ success: z.literal(true), contactCard: ContactCard.nullable() });

/** It is kept for as long as the line has it. */
const KEPT_DAYS = 100 * 365;

function present(card: StoredContactCard | null): z.infer<typeof Shown> {
  if (!card) return { success: true, contactCard: null };
  const { fileId: _id, fileName: _name, ...contactCard } = card;
  return { success: true, contactCard };
}

export const contactCardRoutes = [
  workspaceRoute({
    id: 'getContactCard',
    method: 'GET',
    path: '/api/lines/{id}/contact-card',
    tag: 'Lines',
    summary: 'Get the contact card of a line; null if it has none',
    params,
    responses: { 200: Shown },
    errors: ['NOT_FOUND'],
    async handler({ db, params: { id } }) {
      const line = await findLine(db, id);
      if (!line) throw lineNotFound();
      return { status: 200, body: present(line.contactCard) };
    },
  }),

  workspaceRoute({
    id: 'setContactCard',
    method: 'PUT',
    path: '/api/lines/{id}/contact-card',
    tag: 'Lines',
    transaction: false,
    summary: 'Set the contact card of a phone line',
    description:
      'From then on, a contact gets it after their next message to the line, once, unless `shareContactCard` of the line is `never`: by a carrier with the capability `contact_card`, which shares the names and the picture, or else as a vCard file. A file is a message like others: it counts in the limits, and is shown in the conversation.',
    params,
    body: ContactCardInput,
    responses: { 200: Shown },
    errors: ['NOT_FOUND', 'INVALID_STATE', 'STORAGE_QUOTA_EXCEEDED'],
    audit: { action: 'line.updated', target: 'line', targets: 'handler' },
    async handler({ caller, params: { id }, body, now, audit, pools, storage, config }) {
      const workspaceId = caller.workspace.id;
      const line = await withTenant(pools, workspaceId, (db) => findLine(db, id));
      if (!line) throw lineNotFound();
      if (!isPhoneChannel(line.channel))
        throw new ApiError('INVALID_STATE', 'Only phone lines have a contact card');
      const { phone } = line;
      if (phone === null) throw new ApiError('INVALID_STATE', 'The line has no number yet');
      const fileId = newId(now);
      const card = { ...body, phone, fileId, fileName: cardFileName(body) };
      const content = Buffer.from(vCard(card));
      const key = storageKey(workspaceId, fileId);
      await storage.put(key, Readable.from([content]), content.length, CARD_TYPE);
      try {
        await withTenant(pools, workspaceId, async (db) => {
          const known = await lockContactCard(db, id);
          if (!known) throw lineNotFound();
          const file = { id: fileId, name: card.fileName, contentType: CARD_TYPE, size: content.length };
          await insertUpload(db, { ...file, keptUntil: uploadKeptUntil(now, KEPT_DAYS) }, now);
          await assertWithinQuota(db, quotaOf(caller.workspace, config.storageQuota));
          await setContactCard(db, id, { card, former: known.contactCard }, now);
          await audit(db, [{ id }]);
        });
      } catch (error) {
        await deleteUnrecorded(
          storage,
          key,
          async () => !!(await withTenant(pools, workspaceId, (db) => findStoredAttachment(db, fileId))),
        );
        throw error;
      }
      return { status: 200, body: present(card) };
    },
  }),
];
