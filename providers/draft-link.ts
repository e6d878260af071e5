import { currentTime } from '#domain/base/clock.ts';
import type { Signer } from './signer.ts';

/** The draft about which a link decides, and as whom. */
export interface DraftLinkTarget {
  workspaceId: string;
  replyId: string;
  userId: string;
}

/** Links of emails that decide about one draft, once: nothing can be decided about it afterwards. They expire. */
export interface DraftLinks {
  url(target: DraftLinkTarget, action: 'approve' | 'reject'): string;
  /** @returns null if the token is not valid, or not any more. */
  read(token: string): DraftLinkTarget | null;
}

const VALID_MS = 7 * 86_400_000;

export function createDraftLinks(publicUrl: string, signer: Signer): DraftLinks {
  return {
    url({ workspaceId, replyId, userId }, action) {
      const parts = [workspaceId, replyId, userId, String(currentTime().getTime() + VALID_MS)];
      return `${publicUrl}/drafts/${[...parts, signer.sign('draft', parts)].join('.')}?action=${action}`;
    },
    read(token) {
      const [workspaceId = '', replyId = '', userId = '', until = '', signature = ''] = token.split('.');
      if (!signer.verify('draft', [workspaceId, replyId, userId, until], signature)) return null;
      return Number(until) > currentTime().getTime() ? { workspaceId, replyId, userId } : null;
    },
  };
}
