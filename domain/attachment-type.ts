/** What may be uploaded (specification §4.3): its media type, and what its content may turn out to be. */
interface FileKind {
  contentType: string;
  /** File types as `file-type` names them: one container is written under several names. */
  content: readonly string[];
}

const MPEG4 = ['mp4', 'm4v', 'm4a', 'mov', '3gp', '3g2'];
const OGG = ['ogg', 'oga', 'ogv', 'ogx', 'opus', 'spx'];

const KINDS: Readonly<Record<string, FileKind>> = {
  mp3: { contentType: 'audio/mpeg', content: ['mp3', 'mp2', 'mp1'] },
  m4a: { contentType: 'audio/mp4', content: MPEG4 },
  wav: { contentType: 'audio/wav', content: ['wav'] },
  aac: { contentType: 'audio/aac', content: ['aac', 'm4a', 'mp4', 'mp3'] },
  ogg: { contentType: 'audio/ogg', content: OGG },
  caf: { contentType: 'audio/x-caf', content: ['caf'] },
  png: { contentType: 'image/png', content: ['png', 'apng'] },
  jpg: { contentType: 'image/jpeg', content: ['jpg'] },
  gif: { contentType: 'image/gif', content: ['gif'] },
  webp: { contentType: 'image/webp', content: ['webp'] },
  heic: { contentType: 'image/heic', content: ['heic', 'heif', 'avif'] },
  mp4: { contentType: 'video/mp4', content: MPEG4 },
  mov: { contentType: 'video/quicktime', content: MPEG4 },
  webm: { contentType: 'video/webm', content: ['webm', 'mkv'] },
  pdf: { contentType: 'application/pdf', content: ['pdf'] },
};

export const ALLOWED_EXTENSIONS: readonly string[] = Object.keys(KINDS);

/** What a file claims to be by its name; null when it may not be uploaded. */
export function kindOf(name: string): FileKind | null {
  const extension = /\.([a-z0-9]+)$/i.exec(name)?.[1]?.toLowerCase();
  return extension !== undefined && Object.hasOwn(KINDS, extension) ? (KINDS[extension] ?? null) : null;
}

export const isAudio = (contentType: string | null): boolean => contentType?.startsWith('audio/') ?? false;
