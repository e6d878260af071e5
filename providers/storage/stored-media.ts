import { buffer } from 'node:stream/consumers';
import type { LinkReader } from '#domain/attachment.ts';
import type { FetchMedia } from '../carriers/carrier.ts';
import { type Storage, storageKey } from './storage.ts';

/** Before any link ends: a message that waits for its turn may outlive the link it was accepted with. */
const BEFORE_ANY_END = new Date(0);

/**
 * Reads the attachments of messages, which are links of our own, straight from the storage: nothing is requested
 * over the network, so there is no address that could be abused.
 */
export function storedMedia(links: LinkReader, storage: Storage): FetchMedia {
  return async (link) => {
    const file = links.open(link, BEFORE_ANY_END);
    if (!file) throw new Error('not a link to a file stored here');
    const content = await storage.open(storageKey(file.workspaceId, file.attachmentId));
    if (!content) throw new Error('the file is no longer there');
    return { content: await buffer(content), contentType: null };
  };
}
