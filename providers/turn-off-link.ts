import { NotificationKind } from '#domain/events/notification.ts';
import type { Signer } from './signer.ts';

/** The emails that a link turns off. It contains no address. */
export interface TurnOffTarget {
  workspaceId: string;
  userId: string;
  kind: NotificationKind;
}

/** Links that turn off notification emails (RFC 8058). They do not expire, because people keep emails for years. */
export interface TurnOffLinks {
  url(target: TurnOffTarget): string;
  /** @returns null if the token is not valid. */
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
