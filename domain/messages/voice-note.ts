import type { Channel } from '../base/channel.ts';

/** On other channels a voice note is sent as an ordinary audio file, because phones cannot open the native format. */
export const VOICE_NOTE_CHANNEL: Channel = 'imessage';

/** `hello.mp3` becomes `hello.caf`. */
export const voiceNoteName = (name: string): string => `${name.replace(/\.[^.]*$/, '')}.caf`;

/** How long before its message is due a note is created. */
export const VOICE_NOTES_AHEAD_MS = 30_000;
