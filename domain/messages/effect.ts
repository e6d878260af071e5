import { z } from 'zod';

/** The effects of Apple's Messages: the first four move the bubble, the others the screen. */
export const EFFECTS = [
  'slam',
  'loud',
  'gentle',
  'invisible_ink',
  'echo',
  'spotlight',
  'balloons',
  'confetti',
  'love',
  'lasers',
  'fireworks',
  'shooting_star',
  'celebration',
] as const;
export const Effect = z.enum(EFFECTS).meta({ id: 'Effect' });
export type Effect = z.infer<typeof Effect>;
