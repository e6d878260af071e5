import type { Signer } from './signer.ts';

/** Who is unsubscribed by a link: whoever the message went to. No address stands in it. */
export interface UnsubscribeTarget {
  workspaceId: string;
  messageId: string;
}

/** Links of one-click unsubscription (RFC 8058). They do not expire: an email is kept for years. */
export interface UnsubscribeLinks {
  url(target: UnsubscribeTarget): string;
  /** @returns null when the token was not made here. */
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
