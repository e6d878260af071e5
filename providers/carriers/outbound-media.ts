import type { FetchMedia, OutboundAttachment, SendOutcome } from './carrier.ts';

/** An attachment with its content. */
export type FetchedFile = OutboundAttachment & { content: Buffer };

/** Attachments are fetched before the server is contacted, so that one that is missing is certainly a failure of the whole message. */
export async function fetchAll(
  attachments: readonly OutboundAttachment[],
  fetchMedia: FetchMedia | undefined,
  signal: AbortSignal,
): Promise<SendOutcome | { contents: FetchedFile[] }> {
  if (attachments.length === 0) return { contents: [] };
  if (!fetchMedia) return { kind: 'refused', reason: 'attachments cannot be fetched here' };
  try {
    const contents = await Promise.all(
      attachments.map(async (attachment) => {
        const { content, contentType } = await fetchMedia(attachment.url, signal);
        return { ...attachment, content, contentType: attachment.contentType ?? contentType };
      }),
    );
    return { contents };
  } catch (error) {
    return {
      kind: 'transient',
      reason: `an attachment could not be fetched: ${error instanceof Error ? error.message : 'unknown error'}`,
    };
  }
}
