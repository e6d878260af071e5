import { NotificationKind } from '#domain/notification.ts';
import type { Signer } from './signer.ts';

/** Whose emails of which kind a link turns off. No address stands in it. */
export interface TurnOffTarget {
  workspaceId: string;
  userId: string;
  kind: NotificationKind;
}

/** The links in notification emails that turn them off (RFC 8058). They do not expire: an email is kept for years. */
export interface TurnOffLinks {
  url(target: TurnOffTarget): string;
  /** @returns null when the token was not made here. */
  read(token: string): TurnOffTarget | null;
}

export function createTurnOffLinks(publicUrl: string, signer: Signer): TurnOffLinks {
  return {
    url: ({ workspaceId, userId, kind }) =>
      `${publicUrl}/notifications/${workspaceId}.${userId}.${kind}.${signer.sign('turn-off', [workspaceId, userId, kind])}`,
    read(token) {
      const [workspaceId = '', userId = '', kind = '', signature = ''] = token.split('.');
      const known = NotificationKind.safeParse(kind);
      if (!known.success || !signer.verify('turn-off', [workspaceId, userId, kind], signature)) return null;
      return { workspaceId, userId, kind: known.data };
    },
  };
}
