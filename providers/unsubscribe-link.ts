import type { Signer } from './signer.ts';

/** A link unsubscribes the recipient of a message. It contains no address. */
export interface UnsubscribeTarget {
  workspaceId: string;
  messageId: string;
}

/** One-click unsubscribe links (RFC 8058). They do not expire, because people keep emails for years. */
export interface UnsubscribeLinks {
  url(target: UnsubscribeTarget): string;
  /** @returns null if the token is not valid. */
  read(token: string): UnsubscribeTarget | null;
}

export function createUnsubscribeLinks(publicUrl: string, signer: Signer): UnsubscribeLinks {
  return {
    url: ({ workspaceId, messageId }) =>
      `${publicUrl}/unsubscribe/${workspaceId}.${messageId}.${signer.sign('unsubscribe', [workspaceId, messageId])}`,
    read(token) {
      const [workspaceId = '', messageId = '', signature = ''] = token.split('.');
      return signer.verify('unsubscribe', [workspaceId, messageId], signature)
        ? { workspaceId, messageId }
        : null;
    },
  };
}
