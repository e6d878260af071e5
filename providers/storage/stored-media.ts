import { buffer } from 'node:stream/consumers';
import type { LinkReader } from '#domain/messages/attachment.ts';
import type { FetchMedia } from '../carriers/carrier.ts';
import { type Storage, storageKey } from './storage.ts';

/** The expiry is not checked, because a queued message can outlive the link it was accepted with. */
const BEFORE_ANY_END = new Date(0);

/**
 * Reads attachments, whose URLs are our own signed links, directly from storage, so no request is made to a URL from a
 * message.
 */
export function storedMedia(links: LinkReader, storage: Storage): FetchMedia {
  return async (link) => {
    const file = links.open(link, BEFORE_ANY_END);
    if (!file) throw new Error('not a link to a stored file');
    const content = await storage.open(storageKey(file.workspaceId, file.attachmentId));
    if (!content) throw new Error('the file no longer exists');
    return { content: await buffer(content), contentType: null };
  };
}
