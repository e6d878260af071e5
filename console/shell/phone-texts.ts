import type { MessageDescriptor } from '@lingui/core';
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

export const EFFECT_TEXTS: Record<NonNullable<PhoneMessage['effect']>, MessageDescriptor> = {
  slam: msg`Sent with Slam`,
  loud: msg`Sent with Loud`,
  gentle: msg`Sent with Gentle`,
  invisible_ink: msg`Sent with Invisible ink`,
  echo: msg`Sent with Echo`,
  spotlight: msg`Sent with Spotlight`,
  balloons: msg`Sent with Balloons`,
  confetti: msg`Sent with Confetti`,
  love: msg`Sent with Love`,
  lasers: msg`Sent with Lasers`,
  fireworks: msg`Sent with Fireworks`,
  shooting_star: msg`Sent with Shooting star`,
  celebration: msg`Sent with Celebration`,
};
