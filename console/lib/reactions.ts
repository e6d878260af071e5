import type { MessageDescriptor } from '@lingui/core';
import { msg } from '@lingui/core/macro';
import type { ResponseOf } from '#console/api/routes.ts';

type Reaction = ResponseOf<'GET /api/conversations/{address}'>['messages'][number]['reactions'][number];

/** What people can react with, as iMessage offers it. */
export const TAPBACKS = [
  { reaction: 'love', sign: '❤️', name: msg`Love` },
  { reaction: 'like', sign: '👍', name: msg`Like` },
  { reaction: 'dislike', sign: '👎', name: msg`Dislike` },
  { reaction: 'laugh', sign: '😂', name: msg`Laugh` },
  { reaction: 'emphasize', sign: '‼️', name: msg`Emphasize` },
  { reaction: 'question', sign: '❓', name: msg`Question` },
] as const satisfies readonly { reaction: Reaction['reaction']; sign: string; name: MessageDescriptor }[];
export type Tapback = (typeof TAPBACKS)[number]['reaction'];

/** What stands for a reaction. */
export const signOf = ({
  reaction,
  emoji,
}: Pick<Reaction, 'reaction'> & { emoji?: string | undefined }): string =>
  emoji ?? TAPBACKS.find((one) => one.reaction === reaction)?.sign ?? (reaction === 'sticker' ? '🏷️' : '🙂');
