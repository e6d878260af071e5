import type { MessageDescriptor } from '@lingui/core';
import { msg } from '@lingui/core/macro';
import type { ResponseOf } from '#console/api/routes.ts';

export type Effect = NonNullable<
  ResponseOf<'GET /api/conversations/{address}'>['messages'][number]['effect']
>;

/** The effects of Apple's Messages, by the names that it shows. */
export const EFFECTS: Record<Effect, MessageDescriptor> = {
  slam: msg({ message: 'Slam', context: 'effect' }),
  loud: msg({ message: 'Loud', context: 'effect' }),
  gentle: msg({ message: 'Gentle', context: 'effect' }),
  invisible_ink: msg({ message: 'Invisible ink', context: 'effect' }),
  echo: msg({ message: 'Echo', context: 'effect' }),
  spotlight: msg({ message: 'Spotlight', context: 'effect' }),
  balloons: msg({ message: 'Balloons', context: 'effect' }),
  confetti: msg({ message: 'Confetti', context: 'effect' }),
  love: msg({ message: 'Love', context: 'effect' }),
  lasers: msg({ message: 'Lasers', context: 'effect' }),
  fireworks: msg({ message: 'Fireworks', context: 'effect' }),
  shooting_star: msg({ message: 'Shooting star', context: 'effect' }),
  celebration: msg({ message: 'Celebration', context: 'effect' }),
};

/** Those that move the bubble; the others fill the screen. */
export const BUBBLE_EFFECTS: readonly Effect[] = ['slam', 'loud', 'gentle', 'invisible_ink'];
export const SCREEN_EFFECTS = (Object.keys(EFFECTS) as Effect[]).filter(
  (effect) => !BUBBLE_EFFECTS.includes(effect),
);
