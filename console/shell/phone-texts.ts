import { msg } from '@lingui/core/macro';
import type { ResponseOf } from '#console/api/routes.ts';

export type PhoneMessage = ResponseOf<'GET /api/conversations/{address}'>['messages'][number];
export type Tapback = (typeof TAPBACKS)[number]['reaction'];
type Reaction = PhoneMessage['reactions'][number]['reaction'];

/** What a phone offers to react with. */
export const TAPBACKS = [
  { reaction: 'love', sign: '❤️', name: msg`Love` },
  { reaction: 'like', sign: '👍', name: msg`Like` },
  { reaction: 'dislike', sign: '👎', name: msg`Dislike` },
  { reaction: 'laugh', sign: '😂', name: msg`Laugh` },
  { reaction: 'emphasize', sign: '‼️', name: msg`Emphasize` },
  { reaction: 'question', sign: '❓', name: msg`Question` },
] as const;

export const signOf = ({ reaction, emoji }: { reaction: Reaction; emoji?: string | undefined }): string =>
  emoji ?? TAPBACKS.find((one) => one.reaction === reaction)?.sign ?? (reaction === 'sticker' ? '🏷️' : '🙂');
