import type { Channel } from './channel.ts';

/** Elsewhere a voice note is an audio file like any other: phones could not open its native form. */
export const VOICE_NOTE_CHANNEL: Channel = 'imessage';

/** `hello.mp3` becomes `hello.caf`. */
export const voiceNoteName = (name: string): string => `${name.replace(/\.[^.]*$/, '')}.caf`;
