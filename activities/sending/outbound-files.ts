import { fromNow } from '#domain/base/clock.ts';
import { findStoredAttachment } from '#db/queries/messages/attachments.ts';
import type { MessageRow } from '#db/queries/messages/messages.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { findVoiceNote } from '#db/queries/messages/voice-notes.ts';
import { CARRIER_LINK_DAYS, type LinkReader, linkName } from '#domain/messages/attachment.ts';
import { isAudio } from '#domain/messages/attachment-type.ts';
import type { Channel } from '#domain/base/channel.ts';
import { VOICE_NOTE_CHANNEL, voiceNoteName } from '#domain/messages/voice-note.ts';
import type { OutboundAttachment } from '#providers/carriers/carrier.ts';
import type { SignedLinks } from '#providers/storage/signed-link.ts';

export type Files =
  | { kind: 'files'; attachments: OutboundAttachment[] }
  | { kind: 'refused'; reason: 'attachment_not_found' | 'voice_note_unreadable' }
  | { kind: 'transient'; reason: 'voice_note_not_ready' };

/**
 * The files of a message, with new links for the carrier. The links in the message were verified when it was accepted and
 * may have expired.
 */
export async function outboundFiles(
  db: TenantDb,
  {
    attachmentUrls,
    attachmentNames,
    voiceNote,
  }: Pick<MessageRow, 'attachmentUrls' | 'attachmentNames' | 'voiceNote'>,
  channel: Channel,
  links: SignedLinks,
): Promise<Files> {
  const expires = fromNow(CARRIER_LINK_DAYS * 86_400_000);
  const linkTo = (attachmentId: string, name: string): string =>
    links.sign({ workspaceId: db.workspaceId, attachmentId, name: linkName(name) }, expires);
  const attachments: OutboundAttachment[] = [];
  for (const [index, url] of attachmentUrls.entries()) {
    const id = ownFile(url, db.workspaceId, links);
    const file = id === null ? null : await findStoredAttachment(db, id);
    if (!file) return { kind: 'refused', reason: 'attachment_not_found' };
    const name = attachmentNames[index] ?? file.name;
    if (!voiceNote || channel !== VOICE_NOTE_CHANNEL || !isAudio(file.contentType)) {
      attachments.push({ name, url: linkTo(file.id, name), contentType: file.contentType, voiceNote: false });
      continue;
    }
    const note = await findVoiceNote(db, file.id);
    if (!note) return { kind: 'transient', reason: 'voice_note_not_ready' };
    if (note.status === 'failed') return { kind: 'refused', reason: 'voice_note_unreadable' };
    const noteName = voiceNoteName(name);
    attachments.push({
      name: noteName,
      url: linkTo(note.id, noteName),
      contentType: note.contentType,
      voiceNote: true,
    });
  }
  return { kind: 'files', attachments };
}

/** The id of the attachment that a link names; null unless it is an upload of this workspace. */
export function ownFile(url: string, workspaceId: string, links: LinkReader): string | null {
  const file = links.openUnverified(url);
  return file?.workspaceId === workspaceId ? file.attachmentId : null;
}
